export const docsPage = (_document: object): { html: string; policy: string } => ({ html: '', policy: '' })
