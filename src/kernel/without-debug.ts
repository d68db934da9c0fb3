// With DEBUG set, libraries would print what they send to Redis, numbers and texts included. They read it when they are loaded: the
// first import of every process.
delete process.env.DEBUG
