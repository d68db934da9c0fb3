// The byte order mark that programs of Windows write before a text in UTF-8. JSON.parse refuses it.

/** The text without it. */
export const withoutByteOrderMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)
