// Why a message failed, in one sentence with its code.

/** The sentence of a provider's answer names its code; to one of ours the code is added. */
export const problemText = ({ code, sentence }: { code: string; sentence: string }): string =>
  sentence.includes(code) ? sentence : `${code}: ${sentence}`
