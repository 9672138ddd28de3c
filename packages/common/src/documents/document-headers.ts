import type { HeaderNote } from './complete-document.ts'

// Headers that mean the same in every service, for its API document.

/** Every answer has it. */
export const REQUEST_ID: HeaderNote = {
  description: 'The name of the request in the log.',
  schema: { type: 'string' },
  required: true,
}

/** The tag of the API document, or of the page about it. */
export const DOCUMENT_TAG: HeaderNote = {
  description: 'The version of the document, for If-None-Match.',
  schema: { type: 'string' },
}

/** Asks for an answer only where the version has changed. */
export const IF_NONE_MATCH: HeaderNote = {
  description: 'The ETag of a known version: the answer is 304 where it is still the version.',
  schema: { type: 'string' },
}
