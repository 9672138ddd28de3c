import { defineError, type ErrorTemplate } from '@trestle/common/errors/define-error.ts'
import type { Missing } from '@trestle/common/lifecycle/readiness.ts'

// All errors that the console shows as pages or as JSON. Messages of services are shown unchanged.

/** Seconds after which a client may retry. */
const RETRY = { 'retry-after': '1' }

export const pageNotFound = defineError(404, 'page_not_found', 'There is no such page')
export const objectNotFound = defineError(404, 'object_not_found', 'There is no such object, or it is gone')
export const formRefused = defineError(
  403,
  'form_refused',
  'This form did not come from the console. Open the page again, at the address of the console',
)
/** There is no session, or it has ended. Pages redirect to the sign-in. */
export const notSignedIn = defineError(401, 'not_signed_in', 'Your session has ended. Sign in again')
export const operatorForbidden = defineError(403, 'role_forbidden', 'Your role may not do this')
/** Refuses a role. `others` lists the allowed roles, such as `support and admin`. */
export const actionForbidden: ErrorTemplate<{ readonly role: string; readonly others: string }> = defineError(
  403,
  'role_forbidden',
  ({ role, others }) => `Your role ${role} may not do this; ${others} may`,
)
/** The message comes from the service. */
export const serviceRefused: ErrorTemplate<{ readonly message: string }> = defineError(
  422,
  'service_refused',
  ({ message }) => message,
)
export const tooManyRequests = defineError(429, 'too_many_requests', 'Too many requests. Wait a minute', {
  'retry-after': '60',
})
export const serviceUnavailable: ErrorTemplate<{ readonly service: string }> = defineError(
  503,
  'service_away',
  ({ service }) => `${capitalize(service)} does not answer. Its pages work again as soon as it does`,
  RETRY,
)
/** A service accepts no further file now. */
export const serviceBusy: ErrorTemplate<{ readonly service: string }> = defineError(
  503,
  'service_busy',
  ({ service }) => `${capitalize(service)} has too much to do. Try again in a minute`,
  RETRY,
)
/** Payments or inventory refuses the console's operator key, or the token of an operator whom auth accepts. */
export const consoleRefused: ErrorTemplate<{ readonly service: string }> = defineError(
  503,
  'console_refused',
  ({ service }) =>
    `${capitalize(service)} refuses the operator key of the console, or your sign-in. Its settings say why`,
)
/** The answer does not fit the route, because it comes from a proxy or from another release. */
export const answerUnreadable: ErrorTemplate<{ readonly service: string }> = defineError(
  503,
  'answer_unreadable',
  ({ service }) =>
    `The console cannot read the answer of ${service}. Look between them for a proxy, or for another release`,
  RETRY,
)
/** Texts of pages that show a form again: about fields, about an attempt, or instead of a reason from a service. */
export const FORM_TEXTS = {
  nameless: 'A value has no name',
  twice: (name: string): string => `The name ${name} is there twice`,
  noProduct: (sku: string): string => `No product has the SKU ${sku}`,
  otherFile: 'Choose a file whose name ends in .csv, .ndjson or .jsonl.',
  outsider: 'This account may not use the console. Ask an operator with the role admin for a console role',
  tooManyAttempts: 'Too many attempts. Wait a few minutes',
  unexplained: 'The service refuses this, and does not say why',
} as const
export const requestMalformed = defineError(400, 'request_malformed', 'The request cannot be read')
export const valuesInvalid = defineError(400, 'values_invalid', 'A value of the form or the address is not valid')
export const amountInvalid: ErrorTemplate<{ readonly currency: string }> = defineError(
  422,
  'amount_invalid',
  ({ currency }) => `This is no amount in ${currency}`,
)
/** @param zero with its currency, such as `EUR 0.00` */
export const amountTooSmall: ErrorTemplate<{ readonly zero: string }> = defineError(
  422,
  'amount_too_small',
  ({ zero }) => `The amount must be above ${zero}`,
)
/** @param most with its currency, such as `EUR 12.50` */
export const amountTooLarge: ErrorTemplate<{ readonly most: string }> = defineError(
  422,
  'amount_too_large',
  ({ most }) => `The amount must be at most ${most}`,
)
export const percentInvalid = defineError(
  422,
  'percent_invalid',
  'This is no percentage from 0 to 100 with at most two decimals',
)
/** The text is not a duration by which a clock can be advanced. */
export const advanceInvalid = defineError(
  422,
  'advance_invalid',
  'Type days and hours as whole numbers, above 0 together',
)
export const nothingChanged = defineError(422, 'nothing_changed', 'Nothing is changed yet')
export const answerLost = defineError(
  503,
  'answer_lost',
  'The service has not answered, so the outcome is unknown. Press the button again: the change is made at most once',
)
/** A form was sent again with other values after an attempt that has begun or succeeded. */
export const formSpent = defineError(
  409,
  'form_spent',
  'This form was sent before with other values, which may have taken effect. Check the current state, and open the form again',
)
/** Another operator has changed a fact that the form shows, such as a currency. */
export const formStale = defineError(
  409,
  'form_stale',
  'Another operator has changed the values of this form. Check the current values, and send the form again',
)
export const bodyTooLarge = defineError(413, 'body_too_large', 'The form is too large')
export const mediaTypeUnsupported = defineError(415, 'media_type_unsupported', 'The console takes forms only')
export const consoleBusy = defineError(503, 'console_busy', 'The console has too much to do. Try again', RETRY)
export const consoleFailed = defineError(500, 'console_failed', 'Something went wrong in the console')

const startingUp = defineError(503, 'starting', 'The process is starting', RETRY)
const draining = defineError(503, 'draining', 'The process is stopping', RETRY)
const checkFailed: ErrorTemplate<{ readonly check: string }> = defineError(
  503,
  'not_ready',
  ({ check }) => `The check ${check} fails`,
  RETRY,
)

/** Returns the reason why the process should get no requests. */
export function notReady(missing: Missing): ReturnType<typeof startingUp> {
  if ('check' in missing) return checkFailed(missing)
  return missing.state === 'starting' ? startingUp() : draining()
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
