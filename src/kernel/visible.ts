// Whether a text shows anything. Spaces, marks without a letter, and letters that only hold a place (U+200B, U+3164) do not:
// a name or a value of nothing else is empty to whoever reads it.

const SEEN = /[^\p{Z}\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u

export const isVisible = (text: string): boolean => SEEN.test(text)
