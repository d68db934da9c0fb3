// Where the pages of the console are. Whatever lies below without a file extension, and is no route of the table, is the one
// page that routes by itself.
export const CONSOLE_PATH = '/console'
