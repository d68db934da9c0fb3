// Where the dashboard is mounted: it is an application of its own, and no route of the table.
export const DASHBOARD_PATH = '/dashboard'
