import { readdir, readFile } from 'node:fs/promises'
import { OPERATOR_ACTIONS } from '@trestle/operators/operator-roles.ts'
import { listCommands, listWritingRoutes, type Trace } from '@trestle/testing/list-writes.ts'
import { expect, it } from 'vitest'
import { otherCommands } from '../src/commands/other-commands.ts'

const entries = (...actions: string[]): Trace => ({ entries: actions })
const reason = (text: string): Trace => ({ reason: text })
const ofOperator = (action: keyof typeof OPERATOR_ACTIONS): Trace => entries(`operator.${action}`)

const TRAIL = reason('moves money. The trail of the transaction has an entry, and the ledger a journal')
const CHECKOUT = reason('is a step of a payment at the checkout. The trail of its transaction has an entry')
const TEST = reason('changes what belongs to a test merchant, for its developer. What it books is in the ledger')
const READ = reason('changes nothing')
const SCHEMA = reason('changes tables and functions. The table of migrations has what was applied, and when')

/** The trace of each route that may write. */
const ROUTES: Readonly<Record<string, Trace>> = {
  'DELETE /me/keys/{keyId}': entries('key.revoked'),
  'DELETE /merchants/{merchantId}/apps/{appId}': entries('app.revoked'),
  'DELETE /merchants/{merchantId}/users/{userId}': entries('user.revoked'),
  'DELETE /merchants/{merchantId}/webhooks/{webhookId}': entries('webhook.deleted'),
  'DELETE /operator/apps/{appId}/keys': ofOperator('apps.revoke-keys'),
  'POST /': CHECKOUT,
  'POST /acs/challenge': reason('answers for the bank of a test card. It stores nothing but the step of the payment'),
  'POST /acs/fingerprint': reason('answers for the bank of a test card. It stores nothing but the step of the payment'),
  'POST /apps': entries('key.created'),
  'POST /invitations/{token}': entries('user.accepted'),
  'POST /me/keys': entries('key.created'),
  'POST /merchants': entries('app.added', 'user.added'),
  'POST /merchants/{merchantId}/apps': entries('app.added'),
  'POST /merchants/{merchantId}/cards': reason('stores a card, whose row has its merchant and its time'),
  'POST /merchants/{merchantId}/transactions': TRAIL,
  'POST /merchants/{merchantId}/users': entries('user.invited'),
  'POST /merchants/{merchantId}/webhooks': entries('webhook.created'),
  'POST /merchants/{merchantId}/webhooks/{webhookId}/secrets': entries('webhook.secret-rotated'),
  'POST /operator/attempts/{attemptId}/outcome': ofOperator('attempts.resolve'),
  'POST /operator/deliveries/{deliveryId}/replay': ofOperator('deliveries.replay'),
  'POST /operator/disputes/{disputeId}/outcome': ofOperator('disputes.close'),
  'POST /operator/exceptions/{merchantId}/{exceptionId}/resolution': ofOperator('exceptions.resolve'),
  'POST /operator/merchants/{merchantId}/clock': ofOperator('merchants.advance-clock'),
  'POST /operator/payouts/batches': ofOperator('payouts.export'),
  'POST /operator/payouts/run': ofOperator('payouts.run'),
  'POST /operator/payouts/{payoutId}/outcome': ofOperator('payouts.close'),
  'POST /operator/tasks/{task}/retry': ofOperator('tasks.retry'),
  'POST /operator/transactions/{transactionId}/captures': ofOperator('transactions.capture'),
  'POST /operator/transactions/{transactionId}/disputes': ofOperator('disputes.open'),
  'POST /operator/transactions/{transactionId}/refunds': ofOperator('transactions.refund'),
  'POST /operator/transactions/{transactionId}/voids': ofOperator('transactions.void'),
  'POST /payments': CHECKOUT,
  'POST /payments/challenges/{step}': CHECKOUT,
  'POST /payments/challenges/{step}/{way}': CHECKOUT,
  'POST /pos': CHECKOUT,
  'POST /pos/pay': CHECKOUT,
  'POST /test/disputes/{disputeId}/outcomes': TEST,
  'POST /test/merchants/{merchantId}/clock': TEST,
  'POST /test/merchants/{merchantId}/payouts': TEST,
  'POST /test/transactions/{transactionId}/disputes': TEST,
  'POST /test/transactions/{transactionId}/frauds': TEST,
  'POST /transactions/{transactionId}/captures': TRAIL,
  'POST /transactions/{transactionId}/refunds': TRAIL,
  'POST /transactions/{transactionId}/voids': TRAIL,
  'POST /vault': reason('stores a card for a payment, which ends by itself'),
  'PUT /merchants/{merchantId}': entries('merchant.changed'),
  'PUT /operator/merchants/{merchantId}/pricing': ofOperator('merchants.price'),
  'PUT /operator/registration': ofOperator('registration.change'),
}

const COMMANDS: Readonly<Record<string, Trace>> = {
  adjust: entries('balance.adjusted'),
  'apps create': entries('key.created'),
  'apps hide': entries('app.hidden'),
  'apps invite': entries('app.invited'),
  'apps revoke-keys': entries('app.keys-revoked'),
  'apps unhide': entries('app.shown'),
  'attempts list': READ,
  'attempts resolve': entries('attempt.resolved'),
  'deliveries list': READ,
  'deliveries replay': entries('webhook.replayed'),
  'deliveries show': READ,
  'disputes lost': entries('dispute.lost'),
  'disputes open': entries('dispute.opened'),
  'disputes won': entries('dispute.won'),
  distribute: reason('moves rows to other servers. No row changes'),
  doctor: READ,
  'exceptions list': READ,
  'exceptions resolve': entries('exception.resolved'),
  'frauds add': entries('fraud.added'),
  'fx import': entries('fx.imported'),
  'fx list': READ,
  'ledger verify': entries('ledger.verified'),
  listen: reason('changes nothing but a webhook of a test merchant, which has entries of its own'),
  'merchants acquirer': entries('merchant.changed'),
  'merchants bank': entries('merchant.changed'),
  'merchants claim': entries('merchant.changed'),
  'merchants create': entries('merchant.created'),
  'merchants currency': entries('merchant.currency-moved'),
  'merchants list': READ,
  'merchants pricing': entries('merchant.changed'),
  'merchants show': READ,
  'merchants tds': entries('merchant.changed'),
  'migrate down': SCHEMA,
  'migrate drift': READ,
  'migrate plan': READ,
  'migrate status': READ,
  'migrate up': SCHEMA,
  'payouts batches': READ,
  'payouts export': entries('payouts.exported', 'payouts.exported-again'),
  'payouts fail': entries('payout.failed'),
  'payouts list': READ,
  'payouts run': entries('merchant.paid-out'),
  'payouts settle': entries('payout.settled'),
  prune: reason('deletes what is older than its setting keeps it, as the clean-up of every night does'),
  seed: reason('makes a merchant with data to try. Each of its rows is made as by the API, with the same entries'),
  'tasks list': READ,
  'tasks retry': entries('tasks.retried'),
  'transactions list': READ,
  'transactions show': READ,
  trigger: reason('pays at a test merchant, as the API does. What it books is in the trail and the ledger'),
  'vault keys': READ,
  'vault rotate': entries('vault.rotated'),
  version: READ,
  'warm-up': READ,
}

it('every route that writes has an entry in the audit log, or a reason', async () => {
  const routes = await listWritingRoutes(new URL('../../../docs/openapi/payments.json', import.meta.url))
  expect(routes).toEqual(Object.keys(ROUTES).sort())
})

it('every command has an entry in the audit log, or a reason', async () => {
  const load = () => {
    throw new Error('no command runs here')
  }
  const loaders = otherCommands({ load, now: () => new Date(0), process })
  expect(await listCommands(loaders)).toEqual(Object.keys(COMMANDS).sort())
})

it('every entry is one that a function of the database or the service writes', async () => {
  const functions = new URL('../../../migrations/payments/functions/', import.meta.url)
  const sources = new URL('../src/', import.meta.url)
  const read = async (folder: URL) => {
    const names = (await readdir(folder, { recursive: true })).filter((name) => /(?<!\.test)\.(sql|ts)$/.test(name))
    return Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
  }
  const text = [...(await read(functions)), ...(await read(sources))].join('\n')
  const isWritten = (action: string) =>
    action.replace(/^operator\./, '') in OPERATOR_ACTIONS ||
    text.includes(`'${action}'`) ||
    // The last word is the state of the row.
    /^(dispute|payout)\.(opened|won|lost|settled|failed)$/.test(action)
  const traces = [...Object.values(ROUTES), ...Object.values(COMMANDS)]
  expect(traces.flatMap((trace) => ('entries' in trace ? trace.entries : [])).filter((one) => !isWritten(one))).toEqual(
    [],
  )
})
