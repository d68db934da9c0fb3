// The formats of the files of a campaign, those that come and those that leave.

export type RowFormat = 'csv' | 'ndjson'

export const EXPORT_FORMATS = ['csv', 'ndjson'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
