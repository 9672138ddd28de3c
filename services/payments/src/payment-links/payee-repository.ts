import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { displayName } from '../merchants/site.ts'
import { type RateState, rateState } from '../money/rate-repository.ts'

/** The merchant of a link, for its page. */
export interface LinkPayee {
  /** The public key of the merchant, which a link names. */
  readonly key: string
  /** The name of the merchant, or the host of its website. */
  readonly name: string
  readonly website: string
  readonly test: boolean
  readonly currency: string
  /** Whether the merchant takes card payments, and for live ones the rate of the link's currency is recent. */
  readonly canPay: boolean
  /** Whether the link's currency has an exchange rate to the merchant's. */
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
 * Finds the merchant by the public key of a link. Undefined when no merchant has the key.
 * @param acquirers the names that live merchants may have; `rateAgeDaysMax`: days after which a rate is too old for live money
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
