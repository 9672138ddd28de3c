import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { displayName } from '../merchants/site.ts'
import { type RateState, rateState } from '../money/rate-repository.ts'

/** The merchant of a link, as the payment page needs it. */
export interface LinkPayee {
  /** The public key of the merchant, which a link names. */
  readonly key: string
  /** The name of the merchant, or the host of its website. */
  readonly name: string
  readonly website: string
  readonly test: boolean
  readonly currency: string
  /** Whether the merchant takes card payments. For live merchants, the exchange rate must also be recent. */
  readonly canPay: boolean
  /** Whether an exchange rate exists from the link's currency to the merchant's currency. */
  readonly hasRate: boolean
}

interface PayeeRow {
  key: string
  name: string | null
  website: string
  test: boolean
  currency: string
  acquirer: string | null
  can_charge: boolean
  rate: RateState
}

/** The merchant's public key, and the currency that the link names. */
interface LinkKey {
  readonly key: string
  readonly currency: string | null
}

const payeeQuery = prepare(
  'find_link_payee',
  (p: LinkKey & { readonly rateAgeDaysMax: number }) => sql<PayeeRow>`
    SELECT m.key::text, m.name, m.website, m.test, m.currency, m.acquirer,
      (m.claim ->> 'canChargeCard')::boolean AS can_charge,
      ${rateState(p.currency, p.rateAgeDaysMax)} AS rate
    FROM ${sql.table('merchants')} m
    WHERE m.key = ${p.key}::uuid`,
)

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Finds the merchant by the public key of a link. Returns `undefined` if no merchant has the key.
 * @param acquirers the acquirers that live merchants may have; `rateAgeDaysMax`: the maximum age of a rate for live money, in
 * days
 */
export async function findLinkPayee(
  pools: Pools,
  link: LinkKey,
  { acquirers, rateAgeDaysMax }: { readonly acquirers: readonly string[]; readonly rateAgeDaysMax: number },
): Promise<LinkPayee | undefined> {
  const row = UUID.test(link.key) ? await pools.read.first(payeeQuery, { ...link, rateAgeDaysMax }) : undefined
  if (!row) return undefined
  const { key, website, test, currency } = row
  return {
    key,
    website,
    test,
    currency,
    name: displayName(row.name, website),
    hasRate: row.rate !== null,
    canPay: row.can_charge && row.rate !== 'stale' && (test || acquirers.includes(row.acquirer ?? '')),
  }
}
