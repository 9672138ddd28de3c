import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import fc from 'fast-check'
import type { Ready, Target } from '../target.ts'
import { operatorSecrets, tokenOperators, trustOperators } from './operators.ts'
import {
  ACQUIRER_SECRET,
  LIVE_PAN,
  type LiveMerchant,
  openLiveMerchant,
  sellLive,
  startAcquirer,
} from './payments-live.ts'
import { bodies, lexicon, pooled, STEPS, together } from './payments-requests.ts'
import { basic, createMerchant, leaveAtBank, openRegistration, PAN, sell } from './payments-shop.ts'

const ACTORS = 3
/** Large, because a new live merchant gets its acquirer by a command that takes a second. */
const ROUNDS_OF_A_LIVE_MERCHANT = 8
/** Merchants with payments in every state. Their apps, other apps and customers send the requests. */
export const paymentsTarget: Target = {
  service: 'payments',
  actors: ACTORS,
  pools: new Set([
    ...pooled,
    'hint',
    'publicKey',
    'pcn',
    'pcsc',
    'order',
    'shop',
    'link',
    'state',
    'receipt',
    'invitation',
    'cookie',
    'atBank',
    'exception',
  ]),
  tokens: ['hint', 'pcn', 'pcsc'],
  lexicon,
  bodies,
  together,
  headers: {
    'idempotency-key': fc.nat(500).map((number) => `key-${number}`),
    'x-client': fc.constant('fuzz'),
    accept: fc.constantFrom('text/html', 'application/json'),
    'x-request-id': fc.constantFrom('fuzz-1', 'a b', 'x'.repeat(65)),
  },
  credentialOf: ({ path }) =>
    path.startsWith('/operator/') ? 'operator' : /^\/($|(payments|vault)\b)/.test(path) ? 'none' : 'own',
  errorsOf: 'POST /merchants',
  causedErrors: /^the acquirer did not accept an operation$/,
  pages: /^\/($|ready|health|docs|openapi\.json|pos|acs|invitations)(\/|$)/,
  // A slash at the end is ignored, even after the root.
  normalPath: (path) => (path === '//' ? '/' : path),
  raw: { get: '/me', post: '/merchants' },
  surround: async (stack) => {
    const mails = createMailStore(() => new Date())
    const smtp = await startSmtpListener(mails, 0)
    stack.defer(smtp.close)
    const off = ['KEY', 'APPS', 'FAILURES', 'ADDRESS', 'REFUSALS', 'MAILS', 'INVITATIONS'].map((name) => [
      `PAYMENTS_RATE_${name}`,
      '0',
    ])
    return {
      env: {
        ...Object.fromEntries(off),
        ...trustOperators('PAYMENTS_'),
        ...(await startAcquirer(stack)),
        PAYMENTS_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
        // The root path of this address is also the vault and the payment page.
        PAYMENTS_VAULT_HOST: '127.0.0.1',
        PAYMENTS_POS_URL: 'http://127.0.0.1/pos',
      },
      prepare: async (world) => {
        const { ask, memory, deployment } = world
        const { PAYMENTS_PEPPER, PAYMENTS_VAULT_KEYS } = deployment.secrets
        const secrets = new Map([
          ['pepper', PAYMENTS_PEPPER],
          ['vault key', PAYMENTS_VAULT_KEYS.replace(/^\d+:/, '')],
          ['card number', PAN],
          ['number of a live card', LIVE_PAN],
          ['secret of the acquirer', ACQUIRER_SECRET],
        ])
        const operators = tokenOperators(deployment.secrets)
        for (const [name, secret] of operatorSecrets(operators)) secrets.set(name, secret)
        const keys: string[] = []
        const authorize: Ready['authorize'] = (credential, actor) =>
          credential === 'operator' || credential === 'viewer' ? operators[credential] : basic(keys[actor % ACTORS])
        let live: LiveMerchant | undefined
        let round = 0
        const refresh = async () => {
          round += 1
          await openRegistration(ask, operators.operator)
          if (live === undefined || round % ROUNDS_OF_A_LIVE_MERCHANT === 0) live = await openLiveMerchant(world)
          await sellLive(world, live, operators.operator)
          // Use mails of the previous round, because mails are sent in the background.
          for (const [actor, { text }] of mails.list().slice(0, ACTORS).entries()) {
            memory.keep(actor, 'invitation', /\/invitations\/([\w-]+)/.exec(text ?? '')?.[1] ?? '')
          }
          for (let actor = 0; actor < ACTORS; actor += 1) {
            const { key, publicKey, shop } = await createMerchant(ask, actor)
            keys[actor] = key
            memory.keep(actor, 'shop', shop)
            secrets.set(`key of app ${actor} in round ${round}`, key)
            memory.keep(actor, 'publicKey', publicKey)
            await sell({ ask, memory, actor, publicKey, step: STEPS[(round + actor) % STEPS.length] ?? '' })
            const kept = { transactionId: memory.pick(actor, 'transactionId', 1) }
            await ask({ actor, method: 'POST', target: `/merchants/${shop.merchantId}/cards`, body: kept })
            await leaveAtBank({ ask, memory, actor, publicKey })
          }
        }
        return { authorize, refresh, secrets }
      },
    }
  },
}
