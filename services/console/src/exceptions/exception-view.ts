import { z } from 'zod'
import { Amount } from '../pages/money.ts'

const Exception = z.looseObject({
  merchantId: z.string(),
  id: z.string(),
  created: z.string(),
  acquirer: z.string().optional(),
  kind: z.string(),
  payload: z.record(z.string(), z.unknown()),
  heldBack: z.object({ currency: z.string(), amount: Amount.optional() }).optional(),
  resolved: z.string().optional(),
})
/** An answer of an acquirer that contradicts the books (console reference: Routes of payments). */
export type Exception = z.infer<typeof Exception>

/** The money that payouts hold back until the exception is resolved. Without an amount: the whole balance. */
export type HeldBack = NonNullable<Exception['heldBack']>

/** One exception. */
export const ExceptionAnswer = z.object({ exception: Exception })

/** A page of exceptions. */
export const ExceptionsView = z.object({ exceptions: z.array(Exception) })

const Attempt = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  created: z.string(),
  amount: Amount,
  currency: z.string(),
  acquirer: z.string().optional(),
  state: z.string(),
  transactionId: z.string().optional(),
})
/** An authorization whose outcome nobody knows. */
export type Attempt = z.infer<typeof Attempt>

/** A page of attempts. */
export const AttemptsView = z.object({ attempts: z.array(Attempt) })

/** The path of the list of exceptions. */
export const EXCEPTIONS_PATH = '/exceptions'
/** The path of the list of attempts without a known outcome. */
export const ATTEMPTS_PATH = '/attempts'
