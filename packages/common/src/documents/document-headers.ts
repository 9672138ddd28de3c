import type { HeaderNote } from './complete-document.ts'

// Headers with the same meaning in every service, for the API documents.

/** The header of every answer. */
export const REQUEST_ID: HeaderNote = {
  description: 'The name of the request in the log.',
  schema: { type: 'string' },
  required: true,
}

/** The ETag of the API document or of the page that shows it. */
export const DOCUMENT_TAG: HeaderNote = {
  description: 'The version of the document, for If-None-Match.',
  schema: { type: 'string' },
}

/** The request header for an answer only if the version has changed. */
export const IF_NONE_MATCH: HeaderNote = {
  description: 'The ETag of a known version: the answer is 304 where it is still the version.',
  schema: { type: 'string' },
}
