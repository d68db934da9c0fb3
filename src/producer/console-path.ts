// Where the pages of the console are. Whatever lies below, and is neither a file that was built nor a route of the table, is
// the one page that routes by itself.
export const CONSOLE_PATH = '/console'
