import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import type { Db } from '../database.ts'
import type { OperatorDeps } from '../deps.ts'
import { hasIbanChecksum, hasIbanShape, isPayableIban, normaliseIban } from '../merchants/iban.ts'
import { type Claim, DEFAULT_CLAIM } from '../merchants/merchant.ts'
import {
  callMoveCurrency,
  findMerchant,
  type MerchantForOperator,
  updateOperatorSettings,
} from '../merchants/operator-merchant-repository.ts'
import { FLAT_FEES, type Pricing } from '../merchants/pricing.ts'
import { type Money, readMoney } from '../money/minor-units.ts'
import { name } from '../requests/fields.ts'
import type { OperatorCommand } from './operator-command.ts'
import { readId } from './read-options.ts'

/** `payments merchants pricing`, `claim`, `tds`, `acquirer`, `bank`, `currency`: settings that only an operator changes. */
export const merchantSettings: readonly OperatorCommand[] = [
  {
    usage: 'pricing <id>',
    description: 'change the fees of future captures, refunds and lost disputes',
    options: [
      ['--rate <basis-points>', 'share of each capture'],
      ...Object.entries(FLAT_FEES).map(
        ([fee, act], nth) => [`--${fee} <money>`, `for ${act}${nth === 0 ? ', as EUR:25' : ''}`] as const,
      ),
    ],
    run: ({ db }, { words: [id = ''], options }) => updateOperatorSettings(db, id, { pricing: readPricing(options) }),
  },
  {
    usage: 'claim <id> <permissions...>',
    description: 'grant or withhold permissions, as canRefund=no canCapture=yes',
    run: ({ db }, { words: [id = '', ...words] }) => updateOperatorSettings(db, id, { claim: readClaim(words) }),
  },
  {
    usage: 'tds <id> <mode>',
    choices: { mode: ['attempt', 'full'] },
    description: 'attempt: charge also when 3-D Secure is unavailable; full: never charge without it',
    run: ({ db }, { words: [id = '', mode] }) =>
      updateOperatorSettings(db, id, { tdsMode: mode === 'full' ? 'full' : 'attempt' }),
  },
  {
    usage: 'acquirer <id> <name>',
    description: 'set the acquirer of a live merchant, by its name in PAYMENTS_ACQUIRERS, or none',
    run: setAcquirer,
  },
  {
    usage: 'bank <id> <iban>',
    description: 'set the bank account of later payouts; existing payouts keep theirs',
    options: [['--holder <name>', 'owner of the account, as its bank knows them; none: the company']],
    run: setBank,
  },
  {
    usage: 'currency <id> <code>',
    description: 'move a merchant whose currency the euro has replaced to EUR, at the fixed rate',
    run: moveCurrency,
  },
]

async function moveCurrency({ db }: OperatorDeps, { words: [id = '', code = ''] }: CommandInput): Promise<object> {
  const merchantId = readId('the id', id)
  const found = await callMoveCurrency(db, { merchantId, currency: code })
  if (!found) throw new Error(`there is no merchant ${merchantId}`)
  const { verdict, currency, rate, balance } = found
  if (verdict === 'no-fixed-rate') throw new Error(`${currency} has no fixed rate to ${code}`)
  const state = { id: merchantId, currency: code, balance, moved: verdict === 'done' }
  return verdict === 'done' ? { ...state, from: currency, rate } : state
}

async function setAcquirer(
  { db, acquirers }: OperatorDeps,
  { words: [id = '', name = ''] }: CommandInput,
): Promise<object> {
  if (name === 'none') return updateOperatorSettings(db, id, { acquirer: null })
  if (!acquirers.names.includes(name)) throw new Error(`PAYMENTS_ACQUIRERS has no acquirer ${name}`)
  const { merchant } = await getMerchant(db, id)
  if (merchant.test) throw new Error('a test merchant has the simulator')
  return updateOperatorSettings(db, id, { acquirer: name })
}

async function getMerchant(db: Db, id: string): Promise<MerchantForOperator> {
  const found = await findMerchant(db, id)
  if (!found) throw new Error(`there is no merchant ${id}`)
  return found
}

async function setBank({ db }: OperatorDeps, { words: [id = '', text = ''], options }: CommandInput): Promise<object> {
  const iban = normaliseIban(text)
  if (!hasIbanShape(iban) || !hasIbanChecksum(iban)) throw new Error('the account must be an IBAN')
  const { merchant } = await getMerchant(db, id)
  if (!merchant.test && !isPayableIban(iban)) throw new Error('the account must be an IBAN of its country')
  if (options.holder === undefined) {
    await updateOperatorSettings(db, id, { iban })
    return { id, iban }
  }
  const holder = options.holder === 'none' ? null : readHolder(String(options.holder))
  await updateOperatorSettings(db, id, { iban, holder })
  return { id, iban, holder }
}

function readHolder(text: string): string {
  const { success, data } = name().safeParse(text)
  if (success) return data
  throw new Error('--holder is a name of 1 to 255 characters, or none')
}

function readPricing(options: CommandInput['options']): Partial<Pricing> {
  const { rate, ...flats } = options
  const fees = Object.entries(flats).map(([kind, text]) => [kind, readFee(kind, String(text))])
  return { ...(rate === undefined ? {} : { rate: readBasisPoints(String(rate)) }), ...Object.fromEntries(fees) }
}

function readBasisPoints(text: string): number {
  const rate = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (rate <= 10_000) return rate
  throw new Error('--rate is 0 to 10000 basis points')
}

function readFee(kind: string, text: string): Money {
  const money = readMoney(text)
  if (money) return money
  throw new Error(`--${kind} is a currency and minor units, such as EUR:25`)
}

const WORDS: ReadonlyMap<string | undefined, boolean> = new Map([
  ['yes', true],
  ['no', false],
])

function readClaim(words: readonly string[]): Partial<Claim> {
  const claim = new Map<string, boolean>()
  for (const word of words) {
    const [name = '', value] = word.split('=')
    const granted = WORDS.get(value)
    const known = Object.hasOwn(DEFAULT_CLAIM, name) && name !== 'canTransferToCard'
    if (!known || granted === undefined) throw new Error(`${word} is not a permission, such as canRefund=no`)
    if (claim.has(name)) throw new Error(`${name} is given twice`)
    claim.set(name, granted)
  }
  return Object.fromEntries(claim)
}
