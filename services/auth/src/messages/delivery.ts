import type { HookName } from '../config/hooks.ts'
import type { Trx } from '../database.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import { isIdentifierKept } from '../users/user-repository.ts'
import type { DropReason } from './attempt-delivery.ts'
import { type DeliverSmsDeps, sendSmsInRequest } from './deliver-sms.ts'
import type { MailJob } from './mail-job.ts'
import { buildMailPayload, buildSmsPayload, type MessageHookDeps } from './message-hooks.ts'
import { updateMessages } from './message-repository.ts'
import type { SmsJob } from './sms-job.ts'

/** Messages that a request sends itself, in place of the queue. */
export interface QueuedMessages {
  readonly mails: readonly MailJob[]
  readonly sms: readonly SmsJob[]
}

/** One message on its way: to its hook, or to the gateway of SMS. */
export type Delivery = { readonly hook: HookName; readonly payload: object } | { readonly sms: SmsJob }

/**
 * Builds what is delivered of the messages of a request: calls of hooks with their users as the transaction
 * sees them, or SMS. The mails of a request belong to one change of email, which is one call.
 */
export async function buildDeliveries(
  trx: Trx,
  { config, hooks }: Pick<MessageHookDeps, 'config' | 'hooks'>,
  { mails, sms }: QueuedMessages,
): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  const deps = { config, db: trx }
  const [mail, ...others] = mails
  if (mail && !(await isDropped(trx, 'email', mail))) {
    const payload = await buildMailPayload(deps, [mail, ...others])
    if (payload) deliveries.push({ hook: 'SEND_EMAIL', payload })
  }
  for (const message of sms) {
    if (await isDropped(trx, 'phone', message)) continue
    const payload = hooks.isOn('SEND_SMS') ? await buildSmsPayload(deps, message) : undefined
    if (payload) deliveries.push({ hook: 'SEND_SMS', payload })
    else if (!hooks.isOn('SEND_SMS')) deliveries.push({ sms: message })
  }
  return deliveries
}

/** Whether a message is for a free address alone, and a user has the address. */
async function isDropped(trx: Trx, kind: IdentifierKind, { onlyIfFree, to }: MailJob | SmsJob): Promise<boolean> {
  return onlyIfFree === true && (await isIdentifierKept(trx, { kind, value: to }))
}

/**
 * Calls the hook of a message, or hands an SMS to the gateway.
 * @throws hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed, smsSendFailed
 */
export async function deliver(
  deps: Pick<DeliverSmsDeps, 'hooks' | 'logger' | 'sms'>,
  delivery: Delivery,
): Promise<void> {
  if ('sms' in delivery) await sendSmsInRequest(deps, delivery.sms)
  else await deps.hooks.call(delivery.hook, delivery.payload)
}

/** Records for operators which messages of a request were sent, and which were dropped. */
export async function recordDeliveries(
  trx: Trx,
  { mails, sms }: QueuedMessages,
  deliveries: readonly Delivery[],
): Promise<void> {
  const isMailed = deliveries.some((delivery) => 'hook' in delivery && delivery.hook === 'SEND_EMAIL')
  const isTexted = deliveries.some((delivery) => 'sms' in delivery || delivery.hook === 'SEND_SMS')
  const outcomes = [
    { messages: mails, isSent: isMailed },
    { messages: sms, isSent: isTexted },
  ]
  for (const { messages, isSent } of outcomes) {
    if (messages.length === 0) continue
    const ids = messages.map(({ messageId }) => messageId)
    const dropped = { status: 'failed', attempt: 0, error: DROPPED } as const
    await updateMessages(trx, ids, isSent ? { status: 'sent', attempt: 1 } : dropped)
  }
}

const DROPPED: DropReason = 'a user has the address already'

/** Whether all messages are among the delivered ones. */
export function wereDelivered(messages: QueuedMessages, delivered: QueuedMessages): boolean {
  const names = new Set(namesOf(delivered))
  return namesOf(messages).every((name) => names.has(name))
}

function namesOf({ mails, sms }: QueuedMessages): readonly string[] {
  return [
    ...mails.map(({ kind, to, userId, variables: { Token, TokenHash } }) =>
      JSON.stringify([kind, to, userId, Token, TokenHash]),
    ),
    ...sms.map(({ to, userId, code }) => JSON.stringify([to, userId, code])),
  ]
}
