import { readdir, readFile } from 'node:fs/promises'
import { listCommands, listWritingRoutes, type Trace } from '@trestle/testing/list-writes.ts'
import { expect, it } from 'vitest'
import { otherCommands } from '../src/commands/other-commands.ts'
import { AUDITED_REQUESTS } from './audited-requests.ts'

const entries = (...actions: string[]): Trace => ({ entries: actions })
const reason = (text: string): Trace => ({ reason: text })

const TRAIL = 'moves money. The trail of the transaction has an entry, and the ledger a journal'
const CHECKOUT = 'is a step of a payment at the checkout. The trail of its transaction has an entry'
const TEST = 'changes what belongs to a test merchant, for its developer. What it books is in the ledger'
const REPLAY = 'has an entry, which routes/operator/deliveries/replay.long.test.ts compares'
const READ = reason('changes nothing')
const SCHEMA = reason('changes tables and functions. The table of migrations has what was applied, and when')

/** The reason why a writing route has no audit entry, or which other test checks its entry. */
const ROUTES_WITHOUT: Readonly<Record<string, string>> = {
  'POST /': CHECKOUT,
  'POST /acs/challenge': 'answers for the bank of a test card. It stores nothing but the step of the payment',
  'POST /acs/fingerprint': 'answers for the bank of a test card. It stores nothing but the step of the payment',
  'POST /merchants/{merchantId}/cards': 'stores a card, whose row has its merchant and its time',
  'POST /merchants/{merchantId}/transactions': TRAIL,
  'POST /payments': CHECKOUT,
  'POST /payments/challenges/{step}': CHECKOUT,
  'POST /payments/challenges/{step}/{way}': CHECKOUT,
  'POST /pos': CHECKOUT,
  'POST /pos/pay': CHECKOUT,
  'POST /operator/deliveries/{deliveryId}/replay': REPLAY,
  'POST /test/disputes/{disputeId}/outcomes': TEST,
  'POST /test/merchants/{merchantId}/clock': TEST,
  'POST /test/merchants/{merchantId}/payouts': TEST,
  'POST /test/transactions/{transactionId}/disputes': TEST,
  'POST /test/transactions/{transactionId}/frauds': TEST,
  'POST /transactions/{transactionId}/captures': TRAIL,
  'POST /transactions/{transactionId}/refunds': TRAIL,
  'POST /transactions/{transactionId}/voids': TRAIL,
  'POST /vault': 'stores a card for a payment, which ends by itself',
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
  'disputes open': entries('dispute.open'),
  'disputes won': entries('dispute.won'),
  distribute: reason('moves rows to other servers. No row changes'),
  doctor: READ,
  'exceptions list': READ,
  'exceptions resolve': entries('exception.resolved'),
  'frauds add': entries('fraud.added'),
  'fx import': entries('fx.imported', 'fx.replaced'),
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
  const audited = AUDITED_REQUESTS.map(({ route }) => route)
  expect(routes).toEqual([...new Set([...audited, ...Object.keys(ROUTES_WITHOUT)])].sort())
})

it('every command has an entry in the audit log, or a reason', async () => {
  const load = () => {
    throw new Error('no command runs here')
  }
  const loaders = otherCommands({ load, now: () => new Date(0), process })
  expect(await listCommands(loaders)).toEqual(Object.keys(COMMANDS).sort())
})

it('every entry of a command is one that a function of the database or the service writes', async () => {
  const functions = new URL('../../../migrations/payments/functions/', import.meta.url)
  const sources = new URL('../src/', import.meta.url)
  const read = async (folder: URL) => {
    const names = (await readdir(folder, { recursive: true })).filter((name) => /(?<!\.test)\.(sql|ts)$/.test(name))
    return Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
  }
  const text = [...(await read(functions)), ...(await read(sources))].join('\n')
  // The last word of these actions is the outcome in the row.
  const isWritten = (action: string) => text.includes(`'${action}'`) || /^(payout|dispute)\.\w+$/.test(action)
  const written = Object.values(COMMANDS).flatMap((trace) => ('entries' in trace ? trace.entries : []))
  expect(written.filter((action) => !isWritten(action))).toEqual([])
})
