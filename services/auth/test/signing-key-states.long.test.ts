import { readFileSync } from 'node:fs'
import { hasCome, watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { createKeyRing } from '../src/access-tokens/key-ring.ts'
import { generateSigningKey } from '../src/access-tokens/signing-key.ts'
import { runWorkAlone } from '../src/audit/audit-log.ts'
import {
  addSigningKey,
  promoteSigningKey,
  retireSigningKey,
  type TokensOfRetired,
} from '../src/use-cases/manage-signing-keys.ts'
import { openTestApp } from './auth-app.ts'

const TABLE = 'auth.signing_keys'
const [drawn] = diagramsOf(readFileSync(new URL('../src/access-tokens/README.md', import.meta.url), 'utf8'))

it('a signing key goes through the arrows of its diagram, and through no others', async () => {
  const test = await openTestApp()
  const { deps } = test
  // Determines the state as in the README's table.
  const watched = await watchRows(test.database.directUrl, {
    [TABLE]: (watchedRow) => {
      const { state, retire_at } = watchedRow.row
      return state === 'retired' && hasCome(retire_at, watchedRow) ? 'over' : String(state)
    },
  })
  const [own, other] = await Promise.all(['own', 'other'].map((kid) => generateSigningKey('EdDSA', kid)))
  const startWith = (key: typeof own, use: 'sign' | 'verify') => {
    const seedKeys = key === undefined ? [] : [{ ...key, key_ops: [use] }]
    return createKeyRing({
      ...deps,
      jwt: { ...deps.config.jwt, seedKeys },
      tokenRules: deps.config.compatibility,
    }).load()
  }
  const promote = (kid: string, ageSecondsMin: number) => promoteSigningKey(deps, { kid, ageSecondsMin }, runWorkAlone)
  const retire = (tokens: TokensOfRetired) => retireSigningKey(deps, { kid: 'own', tokens }, runWorkAlone)
  const events = {
    'named by the setting': () => startWith(own, 'verify'),
    'named as the signer': () => startWith(own, 'sign'),
    added: () => addSigningKey(deps, { alg: 'EdDSA', kid: 'own' }, runWorkAlone),
    promoted: () => promote('own', 0),
    'promoted too early': () => promote('own', 600),
    'another is promoted': async () => {
      await startWith(other, 'verify')
      await promote('other', 0)
    },
    retired: () => retire('keep'),
    'retired at once': () => retire('refuse'),
    'retired where it has no tokens': () => retire('expect-none'),
    'two hours pass': () => watched.change(TABLE, `SET retire_at = retire_at - interval '2 hours'`),
  }
  const begun = ['named by the setting', 'promoted']
  const ways = [[], begun.slice(0, 1), begun, [...begun, 'another is promoted'], [...begun, 'retired at once']]
  const found = await watched.explore(events, ways, async () => {})
  expect(found.get(TABLE)).toEqual([...(drawn?.arrows.keys() ?? [])].sort())
  await watched.close()
  await test.close()
})
