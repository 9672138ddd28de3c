import { p } from '@trestle/endpoints/endpoints.ts'

/** An id in a path: decimal, canonical, 1 to 9007199254740991. */
export const RecordId = p.int({ min: 1 })
