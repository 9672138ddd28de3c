import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import type { Command } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { callAdjust } from '../ledger/line-repository.ts'
import { TEST_MERCHANT, viewMerchant } from '../merchants/merchant.ts'
import {
  findMerchant,
  listAllMerchants,
  listMerchantApps,
  type MerchantForOperator,
} from '../merchants/operator-merchant-repository.ts'
import { describePricing } from '../merchants/pricing.ts'
import { formatMoney } from '../money/minor-units.ts'
import { MerchantBody, toNewMerchant } from '../requests/merchant-body.ts'
import { createMerchantForOperator } from '../use-cases/operator/create-merchant.ts'
import { listMerchantWebhooks } from '../webhooks/webhook-repository.ts'
import { viewWebhook } from '../webhooks/webhook-view.ts'
import { merchantSettings } from './merchant-settings.ts'
import { commandGroup, type Operator, type OperatorCommand, toCommand } from './operator-command.ts'
import { PAGE_OPTIONS, readId, readPage, readTest, readValues, TEST_OPTIONS, textOf } from './read-options.ts'

/** `payments merchants …`: lists, shows and creates merchants, and changes the settings that only an operator may change. */
export function merchantsCommand(operator: Operator): Command {
  return commandGroup(operator, 'merchants', 'list, show, make and change merchants', [
    ...commands,
    ...merchantSettings,
  ])
}

const APPS_MAX = 100

const commands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'list merchants, newest first',
    options: [...TEST_OPTIONS, ['--search <text>', 'part of a name, email address or website'], ...PAGE_OPTIONS],
    run: async ({ db }, { options, format }) => {
      const filter = { ...readPage(options), test: readTest(options), search: textOf(options.search) }
      const merchants = await listAllMerchants(db, filter)
      return format === 'json' ? merchants.map(viewForOperator) : merchants.map(describeMerchant)
    },
  },
  {
    usage: 'show <id>',
    description: 'show a merchant with its apps and webhooks',
    run: show,
  },
  {
    usage: 'create',
    description: 'make a merchant, and an app for it unless --app names one',
    options: [
      ['--app <id>', 'the app that becomes its first member; default: a new one, whose key is printed once'],
      ['--test', 'for test cards, without real money. Options below then have defaults'],
      ['--name <name>', 'what its customers see'],
      ['--currency <code>', 'of its balance and payouts, such as EUR'],
      ['--email <address>', 'where to reach it'],
      ['--website <url>', 'where its customers pay'],
      ['--descriptor <text>', 'text on statements of cards'],
      ['--country <code>', 'of the company, such as DK'],
      ['--company-number <number>', 'of the company'],
      ['--iban <iban>', 'where its payouts go'],
      ['--holder <name>', 'owner of that account; default: the company of --name'],
    ],
    run: create,
  },
]

async function show({ db }: OperatorDeps, { words: [id = ''], format }: CommandInput): Promise<object> {
  const merchantId = readId('the id', id)
  const found = await findMerchant(db, merchantId)
  if (!found) throw new Error(`there is no merchant ${merchantId}`)
  const apps = await listMerchantApps(db, { merchantId, limit: APPS_MAX })
  const webhooks = (await listMerchantWebhooks(db, merchantId)).map(viewWebhook)
  if (format === 'json') return { ...viewForOperator(found), apps, webhooks }
  const { merchant, acquirer } = found
  const { key, email, website, descriptor, country, companyNumber, iban, holder, tdsMode, claim, pricing } = merchant
  const withheld = Object.entries(claim).filter(([, granted]) => !granted)
  return {
    ...describeMerchant(found),
    key,
    email,
    website,
    descriptor,
    company: [country, companyNumber].filter((text) => text !== null).join(' '),
    iban,
    holder,
    fees: describePricing(pricing),
    withheld: withheld.map(([permission]) => permission).join(' '),
    tds: tdsMode,
    acquirer: merchant.test ? 'simulator' : acquirer,
    apps,
    webhooks: webhooks.map((webhook) => ({ ...webhook, events: webhook.events.join(' ') || 'all' })),
  }
}

const OPTION_NAMES = {
  name: '--name',
  currency: '--currency',
  email: '--email',
  website: '--website',
  descriptor: '--descriptor',
  'company.country': '--country',
  'company.number': '--company-number',
  'bank.iban': '--iban',
  'bank.holder': '--holder',
} as const

async function create(deps: OperatorDeps, { options, format }: CommandInput): Promise<object> {
  const values = { ...(options.test === true ? TEST_MERCHANT : {}), ...options }
  const body = readValues(
    MerchantBody,
    {
      name: values.name,
      currency: values.currency,
      test: options.test === true,
      email: values.email,
      website: values.website,
      descriptor: values.descriptor,
      company: { country: values.country, number: options.companyNumber },
      bank: { iban: values.iban, holder: options.holder },
    },
    OPTION_NAMES,
  )
  const appId = options.app === undefined ? undefined : readId('--app', options.app)
  const { merchant, app } = await createMerchantForOperator(deps, { merchant: toNewMerchant(body), appId })
  const created = { merchant, acquirer: null }
  if (format === 'json') return { ...viewForOperator(created), app }
  return { ...describeMerchant(created), key: merchant.key, app: app.id, ...(app.key ? { appKey: app.key } : {}) }
}

/** Returns the JSON of the API, plus the acquirer. */
function viewForOperator({ merchant, acquirer }: MerchantForOperator) {
  return { ...viewMerchant(merchant), ...(acquirer === null ? {} : { acquirer }) }
}

function describeMerchant({ merchant: { id, name, test, currency, balance, email, created } }: MerchantForOperator) {
  return { id, name, mode: test ? 'test' : 'live', balance: formatMoney(currency, balance), email, created }
}

const TEXT_LENGTH_MAX = 255

/** `payments adjust <merchant> <amount> <text>`: changes a balance for a reason other than a card payment or a payout. */
export function adjustCommand(operator: Operator): Command {
  return toCommand(operator, {
    usage: 'adjust <merchant> <amount> <text>',
    description: 'change the balance of a merchant by minor units of its currency: +100 or -100',
    options: [['--exception <id>', 'that the adjustment answers, such as a lost dispute: it is resolved with it']],
    run: async ({ pools }, { words: [merchantId = '', amount = '', text = ''], options }) => {
      if (!/^[+-]?[1-9]\d{0,11}$/.test(amount)) throw new Error('the amount is a number of minor units, not 0')
      if (text === '' || text.length > TEXT_LENGTH_MAX) throw new Error('the text has 1 to 255 characters')
      const exceptionId = textOf(options.exception)?.toLowerCase()
      const booked = await callAdjust(pools, { merchantId, amount: Number(amount), text, exceptionId })
      if (!booked) throw new Error(`there is no merchant ${merchantId}`)
      if (booked.verdict === 'no-exception') throw new Error(`there is no open exception ${exceptionId}`)
      if (booked.verdict === 'events-wait')
        throw new Error(
          `exception ${exceptionId} holds the balance until events of an acquirer are applied: no adjustment answers it`,
        )
      const { lineId, balance } = booked
      return { lineId, balance }
    },
  })
}
