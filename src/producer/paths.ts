// Where the applications are that are no routes of the table.

/** The pages of the console. Whatever lies below, and is neither a file nor a route of the table, is the one page that routes by itself. */
export const CONSOLE_PATH = '/console'

/** The dashboard of the raw queues. */
export const DASHBOARD_PATH = '/dashboard'
