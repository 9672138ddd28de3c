import { columns } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { tokenInvalid } from '../errors.ts'
import type { CardToken } from '../vault/card-token.ts'

interface TokenUse {
  readonly merchantId: string
  readonly tokens: readonly CardToken[]
}

// DO UPDATE instead of DO NOTHING: only so the statement returns a row that exists, and waits for a concurrent insert of it.
// Lock order: the tokens by their jti, so that two orders with the same tokens never wait for each other.
const bindQuery = prepareOnCoordinator(
  'bind_tokens',
  (p: TokenUse) => sql<{ jti: string }>`
    INSERT INTO ${sql.table('token_merchants')} AS held (jti, merchant_id, expires)
    SELECT t.jti, ${p.merchantId}, t.expires
    FROM unnest(${columns(p.tokens, { jti: 'text', expires: 'timestamptz' })}) AS t (jti, expires) ORDER BY t.jti
    ON CONFLICT (jti) DO UPDATE SET expires = excluded.expires WHERE held.merchant_id = excluded.merchant_id
    RETURNING jti`,
)

/** The field of an order that has a token. */
export type TokenPath = 'card.number' | 'card.code'

/**
 * Claims the tokens of an order for its merchant, before they are used for anything. A token belongs to the merchant that uses it
 * first, so a leaked token cannot pay elsewhere.
 * @throws tokenInvalid when another merchant was first
 */
export async function claimTokens(
  pools: Pools,
  merchantId: string,
  { number, code }: { readonly number: CardToken; readonly code: CardToken },
): Promise<void> {
  const bound = await pools.write.all(bindQuery, { merchantId, tokens: [number, code] })
  const own = new Set(bound.map(({ jti }) => jti))
  const claimed = [
    { path: 'card.number', token: number },
    { path: 'card.code', token: code },
  ] as const
  const foreign = claimed.find(({ token }) => !own.has(token.jti))
  if (foreign) refuseToken(foreign.path)
}

export function refuseToken(path: TokenPath): never {
  throw tokenInvalid({ details: { path } })
}
