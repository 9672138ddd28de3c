import { p } from '@trestle/endpoints/endpoints.ts'

/** An id: a decimal integer from 1 to 9007199254740991 (reference: Path ids). */
export const RecordId = p.int({ min: 1 })

/** The id of a product in a request. */
export const ProductId = RecordId.meta({ description: 'The id of a product' })
/** The id of a location in a request. */
export const LocationId = RecordId.meta({ description: 'The id of a location' })
/** The id of a reservation in a request. */
export const ReservationId = RecordId.meta({ description: 'The id of a reservation' })
/** The id of an import of an operator in a request. */
export const ImportId = RecordId.meta({ description: 'The id of an import' })
