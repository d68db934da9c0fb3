// The name of an operation: in the description, in generated clients, and as a tool of agents.

/** `campaigns` and `start` → `campaignsStart`, which stays the same as long as the table has these names. */
export const operationId = (family: string, name: string): string =>
  family + name.charAt(0).toUpperCase() + name.slice(1)
