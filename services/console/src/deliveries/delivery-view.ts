import { z } from 'zod'

/** The states of a delivery, in the order in which it goes through them. */
export const DELIVERY_STATUSES = ['waiting', 'sending', 'retrying', 'delivered', 'cancelled', 'failed'] as const

const Delivery = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  webhookId: z.string(),
  eventId: z.string(),
  type: z.string().optional(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.int(),
  created: z.string(),
  error: z.string().optional(),
})
/** An event on its way to a webhook (console reference: Routes of payments). */
export type Delivery = z.infer<typeof Delivery>
/** A page of deliveries. */
export const DeliveriesView = z.object({ deliveries: z.array(Delivery) })

/** A delivery with its event and its attempts (console reference: Delivery of operators). */
export const ShownDelivery = z.object({
  delivery: Delivery,
  webhook: z.looseObject({ url: z.string() }).optional(),
  event: z.unknown().optional(),
  attempts: z.array(
    z.looseObject({
      at: z.string(),
      status: z.int().optional(),
      error: z.string().optional(),
      answer: z.string().optional(),
    }),
  ),
})
export type ShownDelivery = z.infer<typeof ShownDelivery>

const About = z.looseObject({ transactionId: z.string() })
/** An event about a payment. */
const PaymentEvent = z.union([
  z
    .looseObject({ data: z.looseObject({ transaction: z.looseObject({ id: z.string() }) }) })
    .transform(({ data }) => data.transaction.id),
  z.looseObject({ data: z.looseObject({ dispute: About }) }).transform(({ data }) => data.dispute.transactionId),
  z.looseObject({ data: z.looseObject({ fraud: About }) }).transform(({ data }) => data.fraud.transactionId),
])

/** The id of the transaction that an event is about, itself or by its dispute or fraud alert. Undefined: none. */
export function transactionIdOf({ event }: Pick<ShownDelivery, 'event'>): string | undefined {
  return PaymentEvent.safeParse(event).data
}

/** Explanations of codes of Node.js for somebody who does not run the webhook. */
const ERROR_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused: nothing listens at the address',
  ECONNRESET: 'The connection was cut before there was an answer',
  EHOSTUNREACH: 'No way leads to the address',
  ENETUNREACH: 'No way leads to the address',
  ENOTFOUND: 'The name of the address is not known',
  EAI_AGAIN: 'The name of the address could not be looked up',
  EPIPE: 'The connection was cut while the event was sent',
  ETIMEOUT: 'The name servers of the address did not answer in time',
  ETIMEDOUT: 'The connection was not made in time',
  CERT_HAS_EXPIRED: 'The certificate of the address has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate of the address is signed by itself',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is of another name than the address',
}

/** Why an attempt failed, in words with the code behind them where payments tells a code alone. */
export function errorText(error: string): string {
  const words = ERROR_WORDS[error]
  return words === undefined ? error : `${words} (${error})`
}

/** How the state of a delivery looks. */
export const DELIVERY_TONES = {
  waiting: 'info',
  sending: 'info',
  retrying: 'warn',
  delivered: 'good',
  cancelled: 'plain',
  failed: 'bad',
} as const satisfies Record<Delivery['status'], string>

/** The path of the list of deliveries. */
export const DELIVERIES_PATH = '/deliveries'

/** Returns the path of a delivery. */
export function deliveryPath(id: string): string {
  return `${DELIVERIES_PATH}/${encodeURIComponent(id)}`
}
