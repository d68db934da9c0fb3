// The formats of a campaign's files: rows that are uploaded, and results that are exported.

export type RowFormat = 'csv' | 'ndjson'

export const EXPORT_FORMATS = ['csv', 'ndjson'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
