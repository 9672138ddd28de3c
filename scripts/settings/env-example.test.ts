import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { oneOf, port, url } from '../../packages/common/src/config/setting.ts'
import { group } from '../../packages/common/src/config/setting-description.ts'
import { describeSettings } from './describe-settings.ts'
import { envExample } from './env-example.ts'

/** The example without its common header, and with shortened rules. */
function example(settings: Readonly<Record<string, unknown>>): string {
  const lines = envExample([{ name: 'shop', settings: describeSettings(settings, 'SHOP_') }]).split('\n')
  return lines
    .slice(lines.indexOf('') + 1)
    .join('\n')
    .replaceAll(/-{9,}$/gm, '---')
}

describe('envExample', () => {
  it('explains each required setting in a line above it, and leaves the others to the page of the service', () => {
    const settings = group('Address', {
      URL: url().meta({ aliases: ['API_URL'], description: 'Public `address`.' }),
      PORT: port().prefault('8090').describe('Port of the API.'),
      DRIVER: oneOf('postgres').describe('Kind of database.'),
    })
    expect(example(settings)).toBe(`# --- shop: all settings are in docs/settings/shop.md ---

# Public address. Also read: API_URL.
SHOP_URL=

# Kind of database.
SHOP_DRIVER=postgres
`)
  })

  it('breaks long explanations between words', () => {
    const settings = group('Texts', { A: url().describe('word '.repeat(40).trim()) })
    const lines = example(settings).split('\n').slice(2, -2)
    expect(lines.map((line) => line.length)).toEqual([116, 86])
    expect(lines.every((line) => /^#( word)+$/.test(line))).toBe(true)
  })

  it('is read as an env file, and has at most 8 kB', () => {
    const text = readFileSync(join(import.meta.dirname, '../../.env.example'), 'utf8')
    expect(Object.entries(parseEnv(text)).filter(([, value]) => value !== '')).toEqual([['AUTH_DB_DRIVER', 'postgres']])
    expect(text.length).toBeLessThan(8000)
  })
})
