// Whether a text has visible characters. Spaces, marks without a letter, and filler characters (U+200B, U+3164) are invisible: a
// name or a value made only of them looks empty.

const SEEN = /[^\p{Z}\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u

export const isVisible = (text: string): boolean => SEEN.test(text)
