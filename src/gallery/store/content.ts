// The bytes of gallery files: gallery/<first two characters of the hash>/<hash>, stored once per content whoever uploads
// it. Content of the same hash may be there already; it is replaced by the same bytes.

/** Where content stands in the file store: the `path` of a gallery file. */
export const contentPath = (hash: string): string => `gallery/${hash.slice(0, 2)}/${hash}`
