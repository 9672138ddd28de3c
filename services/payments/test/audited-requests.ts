import type { MailSink } from '@trestle/testing/mail-sink.ts'
import type { InjectOptions } from 'fastify'
import { callAddException } from '../src/acquirers/exception-repository.ts'
import { insertAttempt } from './attempts.ts'
import { customerPayment } from './customer-payment.ts'
import type { World } from './error-model/world.ts'
import { createTestApp } from './payments-app.ts'

/** The objects of the requests, and the mails that the service sends. */
export interface AuditWorld extends World {
  readonly sink: MailSink
}

/** Creates what a request needs. @returns the members that differ from a valid request to the endpoint */
type Change = (world: AuditWorld) => Promise<Pick<InjectOptions, 'url' | 'payload' | 'headers'>>

const pay = (of: World) => customerPayment(of.payments, of.merchant.id, { amount: 1_000 })
const newApp = async ({ payments }: World) => (await createTestApp(payments)).id
const member = async (of: World) => {
  const appId = await newApp(of)
  await of.make('POST', `/merchants/${of.merchant.id}/apps`, { appId })
  return { url: `/merchants/${of.merchant.id}/apps/${appId}` }
}
/** Invites an address. @returns the path of the mail's link */
async function invite({ merchant, make, sink }: AuditWorld, email: string): Promise<string> {
  await make('POST', `/merchants/${merchant.id}/users`, { email })
  const mail = await sink.take(({ to }) => to?.[0]?.address === email)
  return /\/invitations\/[\w-]+/.exec(mail.text ?? '')?.[0] ?? ''
}
const invited: Change = async (of) => {
  await invite(of, 'gone@example.com')
  const { merchant, owner, payments } = of
  const users = await payments.app.inject({ url: `/merchants/${merchant.id}/users?limit=1`, headers: owner.headers })
  return { url: `/merchants/${merchant.id}/users/${users.json()[0].id}` }
}
const webhook: Change = async ({ merchant, make }) => {
  const made = await make('POST', `/merchants/${merchant.id}/webhooks`, { url: 'https://example.com/gone' })
  return { url: `/merchants/${merchant.id}/webhooks/${JSON.parse(JSON.stringify(made)).webhook.id}` }
}
const exception: Change = async ({ merchant, payments }) => {
  const payload = { type: 'operation', acquirer: 'north', reason: 'late' }
  await callAddException(payments.service.db, { merchantId: merchant.id, reference: 'late', payload })
  const { id } = await payments.database.db.selectFrom('acquirer_exceptions').select('id').executeTakeFirstOrThrow()
  return { url: `/operator/exceptions/${merchant.id}/${id}/resolution` }
}
const ofTransaction =
  (act: string): Change =>
  async (of) => ({ url: `/operator/transactions/${await pay(of)}/${act}` })
const ofCaptured =
  (act: string): Change =>
  async (of) => {
    const id = await pay(of)
    await of.make('POST', `/transactions/${id}/captures`, { amount: 1_000 })
    return { url: `/operator/transactions/${id}/${act}` }
  }

interface AuditedRequest {
  readonly route: string
  readonly entries: readonly string[]
  readonly change: Change
}
/** A request to an endpoint of the API document, and its audit entries. */
const writes = (
  route: string,
  entries: string | readonly string[],
  change: Change = async () => ({}),
): AuditedRequest => ({
  route,
  entries: [entries].flat(),
  change,
})

/** A valid request to each route with audit entries. */
export const AUDITED_REQUESTS: readonly AuditedRequest[] = [
  writes('DELETE /me/keys/{keyId}', 'key.revoked'),
  writes('DELETE /merchants/{merchantId}/apps/{appId}', 'app.revoked', member),
  writes('DELETE /merchants/{merchantId}/users/{userId}', 'user.revoked', invited),
  writes('DELETE /merchants/{merchantId}/webhooks/{webhookId}', 'webhook.deleted', webhook),
  writes('POST /apps', 'key.created'),
  writes('POST /me/keys', 'key.created'),
  writes('POST /merchants', 'app.added'),
  writes('POST /merchants', 'user.added', async ({ user }) => ({ headers: { ...user, 'accept-version': '1' } })),
  writes('POST /invitations/{token}', 'user.accepted', async (of) => ({
    url: await invite(of, 'accepts@example.com'),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: '',
  })),
  writes('POST /merchants/{merchantId}/apps', 'app.added', async (of) => ({ payload: { appId: await newApp(of) } })),
  writes('POST /merchants/{merchantId}/users', 'user.invited'),
  writes('POST /merchants/{merchantId}/webhooks', 'webhook.created'),
  writes('POST /merchants/{merchantId}/webhooks/{webhookId}/secrets', 'webhook.secret-rotated'),
  writes('PUT /merchants/{merchantId}', 'merchant.changed', async () => ({ payload: { name: 'Tea' } })),
  writes('DELETE /operator/apps/{appId}/keys', 'operator.apps.revoke-keys', async (of) => ({
    url: `/operator/apps/${await newApp(of)}/keys`,
  })),
  writes('POST /operator/attempts/{attemptId}/outcome', 'operator.attempts.resolve', async ({ payments, merchant }) => {
    const attempt = { merchantId: merchant.id, state: 'unknown', acquirer: 'north' } as const
    return { url: `/operator/attempts/${await insertAttempt(payments, attempt)}/outcome` }
  }),
  writes('POST /operator/disputes/{disputeId}/outcome', 'operator.disputes.close'),
  writes('POST /operator/exceptions/{merchantId}/{exceptionId}/resolution', 'operator.exceptions.resolve', exception),
  writes('POST /operator/merchants/{merchantId}/clock', 'operator.merchants.advance-clock'),
  writes('POST /operator/payouts/batches', 'operator.payouts.export'),
  writes('POST /operator/payouts/run', 'operator.payouts.run'),
  writes('POST /operator/payouts/{payoutId}/outcome', 'operator.payouts.close'),
  writes('POST /operator/tasks/{task}/retry', 'operator.tasks.retry'),
  writes(
    'POST /operator/transactions/{transactionId}/captures',
    'operator.transactions.capture',
    ofTransaction('captures'),
  ),
  writes('POST /operator/transactions/{transactionId}/disputes', 'operator.disputes.open', ofCaptured('disputes')),
  writes('POST /operator/transactions/{transactionId}/refunds', 'operator.transactions.refund', ofCaptured('refunds')),
  writes('POST /operator/transactions/{transactionId}/voids', 'operator.transactions.void', ofTransaction('voids')),
  writes('PUT /operator/merchants/{merchantId}/pricing', ['merchant.changed', 'operator.merchants.price']),
  writes('PUT /operator/registration', 'operator.registration.change'),
]
