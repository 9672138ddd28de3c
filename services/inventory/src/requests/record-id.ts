import { p } from '@trestle/endpoints/endpoints.ts'

/** An id: a decimal integer from 1 to 9007199254740991 (reference: Path ids). */
export const RecordId = p.int({ min: 1 })
