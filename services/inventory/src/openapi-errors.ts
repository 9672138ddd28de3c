import type { HttpError } from '@trestle/common/errors/define-error.ts'
import * as errors from './errors.ts'
import { unsupportedFileType } from './import-errors.ts'
import { operatorForbidden, operatorUnauthorized } from './operator-errors.ts'
import { limitTooHigh } from './request-errors.ts'

/** An operation and a status, by which the example of an error is chosen. */
interface FailedOperation {
  readonly operationId: string
  readonly status: string
}

/** An error that an operation may answer, and the ids of these operations. */
type Example = readonly [operations: RegExp, error: () => HttpError]

const ANY = /^/

/** Examples by status. The first one whose operations have the id counts. */
const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  400: [
    [/^get(?:Products|Stock|Movements|Reservations|Locations|Users)$/, () => limitTooHigh(500)],
    [ANY, errors.badRequest],
  ],
  401: [
    [/Operator/, operatorUnauthorized],
    [ANY, errors.missingToken],
  ],
  403: [
    [/Operator/, () => operatorForbidden({ details: { action: 'products.import', role: 'viewer' } })],
    [/^get/, errors.readScopeMissing],
    [ANY, errors.writeScopeMissing],
  ],
  404: [
    [/^getMovements/, errors.movementNotFound],
    [/Reservations.*WithReservationId$/, errors.reservationNotFound],
    [/Locations/, errors.locationNotFound],
    [/Users/, errors.userNotFound],
    [/ImportsWithImportId$/, errors.importNotFound],
    [/Products|Stock|Movements|Reservations/, errors.productNotFound],
    [ANY, () => errors.notFound({})],
  ],
  406: [[ANY, errors.notAcceptable]],
  408: [[ANY, errors.requestTimeout]],
  409: [
    [/^deleteProducts/, errors.productInStock],
    [/Products/, errors.duplicateSku],
    [/^deleteLocations/, errors.locationHasStock],
    [/Locations/, errors.duplicateCode],
    [/ReservationsCommit/, () => errors.aboveRemaining({ details: { remaining: 1 } })],
    [/^deleteReservations/, errors.reservationCommitted],
    [ANY, () => errors.insufficientStock({ details: { available: 2 } })],
  ],
  412: [
    [/Locations/, errors.locationChanged],
    [ANY, errors.productChanged],
  ],
  413: [[ANY, errors.payloadTooLarge]],
  414: [[ANY, errors.uriTooLong]],
  415: [
    [/Imports?$/, unsupportedFileType],
    [ANY, errors.unsupportedMediaType],
  ],
  422: [[ANY, errors.keyMismatch]],
  428: [[ANY, errors.preconditionRequired]],
  429: [[ANY, errors.tooManyRequests]],
  431: [[ANY, errors.headersTooLarge]],
  500: [[ANY, errors.serverError]],
  503: [
    [/^getReady$/, () => errors.notReady({ state: 'draining' })],
    [ANY, errors.serviceUnavailable],
  ],
}

/** An error that an operation answers with a status. @throws Error when this file has no example of the status */
export function exampleOfError({ operationId, status }: FailedOperation): HttpError {
  const [, error] = EXAMPLES[status]?.find(([operations]) => operations.test(operationId)) ?? []
  if (error === undefined) throw new Error(`there is no example of an error with the status ${status}`)
  return error()
}
