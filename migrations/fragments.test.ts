import { describe, expect, it } from 'vitest'
import { fragmentText, includeFragments } from './fragments.ts'

function readIn(files: Readonly<Record<string, string>>) {
  return (name: string): string => {
    const text = files[name]
    if (text === undefined) throw new Error(`${name} is not there`)
    return text
  }
}
const read = readIn({
  'one.sql': '-- One.\n-- Of them.\n1\n',
  'lines.sql': '-- Lines.\nSELECT a\n  FROM b;\n-- Why.\nRETURN;\n',
  'key.sql': '-- The key.\nk.mac = {{:key_mac}} AND {{:key_mac}} IS NOT NULL\n',
  'app.sql': '-- The app.\nSELECT k.app_id AS {{:name}} WHERE {{include:key.sql key_mac => {{:key_mac}}}}\n',
})

describe('includeFragments', () => {
  it.each([
    ['SELECT {{include:one.sql}}, {{users}}', 'SELECT 1, {{users}}'],
    ['  {{include:lines.sql}}\nEND', '  SELECT a\n    FROM b;\n  -- Why.\n  RETURN;\nEND'],
    [
      "{{include:key.sql key_mac => decode(i.mac, 'hex')}}",
      "k.mac = decode(i.mac, 'hex') AND decode(i.mac, 'hex') IS NOT NULL",
    ],
    [
      '{{include:app.sql name => id,\n  key_mac => p.mac}}',
      'SELECT k.app_id AS id WHERE k.mac = p.mac AND p.mac IS NOT NULL',
    ],
  ])('turns %j into the text with its fragments', (text, expected) => {
    expect(includeFragments(text, read)).toBe(expected)
  })

  it.each([
    ['without a parameter', '{{include:key.sql}}', 'an include of key.sql gives other parameters: key_mac'],
    ['with one too many', '{{include:one.sql mac => x}}', 'an include of one.sql gives other parameters: mac'],
    ['with another one', '{{include:key.sql mac => x}}', 'an include of key.sql gives other parameters: key_mac, mac'],
    ['of a fragment that is not there', '{{include:two.sql}}', 'two.sql is not there'],
  ])('refuses an include %s', (_what, text, message) => {
    expect(() => includeFragments(text, read)).toThrow(message)
  })
})

it('leaves the parameters of a fragment in the text for a query', () => {
  expect(fragmentText('app.sql', read)).toBe(
    'SELECT k.app_id AS {{:name}} WHERE k.mac = {{:key_mac}} AND {{:key_mac}} IS NOT NULL',
  )
})
