import { columns } from '@trestle/database/batches/columns.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { CardToken } from '../vault/card-token.ts'

interface TokenUse {
  readonly merchantId: string
  readonly tokens: readonly CardToken[]
}

// A row that is there is written again, since only so the statement answers it and waits for whoever is inserting it.
const bindQuery = prepare(
  'bind_tokens',
  (p: TokenUse) => sql<{ jti: string }>`
    INSERT INTO ${sql.table('token_merchants')} AS held (jti, merchant_id, expires)
    SELECT t.jti, ${p.merchantId}, t.expires
    FROM unnest(${columns(p.tokens, { jti: 'text', expires: 'timestamptz' })}) AS t (jti, expires) ORDER BY t.jti
    ON CONFLICT (jti) DO UPDATE SET expires = excluded.expires WHERE held.merchant_id = excluded.merchant_id
    RETURNING jti`,
)

/**
 * Gives tokens to the merchant that uses them, unless another one was first, and answers which are its own: the names (`jti`) of
 * those.
 */
export async function bindTokens(
  lanes: Lanes,
  merchantId: string,
  tokens: readonly CardToken[],
): Promise<ReadonlySet<string>> {
  return new Set((await lanes.write.all(bindQuery, { merchantId, tokens })).map(({ jti }) => jti))
}
