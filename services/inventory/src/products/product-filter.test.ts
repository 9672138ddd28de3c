import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { describe, expect, it } from 'vitest'
import { FIELD_TEXTS } from '../field-errors.ts'
import { nestJson, parseAttributePath, readFilter, toJsonPath, VALUES_MAX } from './product-filter.ts'

describe('readFilter', () => {
  it.each([
    ['sku', 'A', { filter: { kind: 'sku', values: ['A'] }, listed: 1 }],
    ['sku', 'A,B', { filter: { kind: 'sku', values: ['A,B'] }, listed: 1 }],
    ['sku[in]', 'A,"B,""C"""', { filter: { kind: 'sku', values: ['A', 'B,"C"'] }, listed: 2 }],
    ['sku[prefix]', '', { filter: { kind: 'sku-prefix', prefix: '' } }],
    ['q', '  red ', { filter: { kind: 'search', text: 'red' } }],
    ['contains', '{"a":1}', { filter: { kind: 'contains', values: ['{"a":1}'], negated: false } }],
    ['contains', 'null', { filter: { kind: 'contains', values: ['null'], negated: false } }],
    ['attributes.a', '1', { filter: { kind: 'contains', values: ['{"a":1}', '{"a":"1"}'], negated: false } }],
    ['attributes.a', '"1"', { filter: { kind: 'contains', values: ['{"a":"1"}'], negated: false } }],
    ['attributes.a', 'true', { filter: { kind: 'contains', values: ['{"a":true}', '{"a":"true"}'], negated: false } }],
    ['attributes.a', '01', { filter: { kind: 'contains', values: ['{"a":"01"}'], negated: false } }],
    ['attributes.a[ne]', 'x', { filter: { kind: 'contains', values: ['{"a":"x"}'], negated: true } }],
    ['attributes.a.b[has]', 'x', { filter: { kind: 'contains', values: ['{"a":{"b":["x"]}}'], negated: false } }],
    ['attributes.a[exists]', 'false', { filter: { kind: 'exists', jsonPath: 'strict $."a"', wanted: false } }],
    ['attributes.a[gte]', '10', { filter: { kind: 'predicate', jsonPath: 'strict $."a" >= 10' } }],
    ['attributes.a[lt]', 'm"', { filter: { kind: 'predicate', jsonPath: 'strict $."a" < "m\\""' } }],
    ['attributes.a[prefix]', 'x', { filter: { kind: 'predicate', jsonPath: 'strict $."a" starts with "x"' } }],
    [
      'attributes.a[in]',
      '1,x',
      {
        filter: {
          kind: 'one-of',
          jsonPath: 'strict $."a"',
          literals: ['1', '"1"', '"x"'],
          nested: ['{"a":1}', '{"a":"1"}', '{"a":"x"}'],
        },
        listed: 2,
      },
    ],
  ])('reads the query %s=%s as the filter %j', (name, value, read) => {
    expect(readFilter(name, value)).toEqual({ verdict: 'accepted', ...read })
  })

  const list = (count: number) => Array.from({ length: count }, (_, n) => n).join(',')
  it.each([
    ['name', 'x', FIELD_TEXTS.unprefixed({ name: 'name' })],
    ['kontains', 'x', VALUE_TEXTS.misspelt({ meant: 'contains' })],
    ['attributes', 'x', VALUE_TEXTS.unknown],
    ['x'.repeat(65), 'x', VALUE_TEXTS.unknown],
    ['attributesx', 'x', FIELD_TEXTS.unprefixed({ name: 'attributesx' })],
    ['sku', 'a\0', FIELD_TEXTS.nulCharacter],
    ['attributes.\0', 'a', FIELD_TEXTS.nulCharacter],
    ['sku[gt]', 'a', FIELD_TEXTS.unknownOperator],
    ['attributes.a[toString]', 'a', FIELD_TEXTS.unknownOperator],
    ['sku', 'x'.repeat(256), FIELD_TEXTS.tooLong({ max: 255 })],
    ['sku[in]', '', FIELD_TEXTS.wrongCount({ max: VALUES_MAX })],
    ['sku[in]', list(VALUES_MAX + 1), FIELD_TEXTS.wrongCount({ max: VALUES_MAX })],
    ['attributes.a[in]', list(VALUES_MAX + 1), FIELD_TEXTS.wrongCount({ max: VALUES_MAX })],
    ['attributes.a[exists]', 'yes', VALUE_TEXTS.notBoolean],
    ['attributes.a', '1e1001', FIELD_TEXTS.longNumber],
    ['attributes.a[gt]', '-1e1001', FIELD_TEXTS.longNumber],
    ['q', ' ', FIELD_TEXTS.wrongLength({ max: 200 })],
    ['q', '🧦'.repeat(201), FIELD_TEXTS.wrongLength({ max: 200 })],
  ])('refuses %j=%.20j: %s', (name, value, problem) => {
    expect(readFilter(name, value)).toEqual({ verdict: 'refused', problem })
  })

  it.each([
    ['sku[in]', list(VALUES_MAX), VALUES_MAX],
    ['sku', '🧦'.repeat(255), 1],
  ])('accepts the most that %s may have', (name, value, listed) => {
    expect(readFilter(name, value)).toEqual({ verdict: 'accepted', filter: expect.anything(), listed })
  })
})

describe('parseAttributePath', () => {
  it.each([
    ['color', ['color']],
    ['dim.w', ['dim', 'w']],
    ['"a.b".c', ['a.b', 'c']],
    ['"a\\"[]".b', ['a"[]', 'b']],
    ['a b', ['a b']],
    ['""', ['']],
    ['__proto__', ['__proto__']],
    ['a.a.a.a.a.a.a.a', Array(8).fill('a')],
  ])('reads the path %s', (text, path) => {
    expect(parseAttributePath(text)).toEqual(path)
  })

  it.each([
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    'a"b"',
    '"a',
    '"a"b',
    'a[0]',
    '"\\x"',
    '"\\u0000"',
    '"\\ud800"',
    'a.a.a.a.a.a.a.a.a',
  ])('refuses the path %s', (text) => {
    expect(parseAttributePath(text)).toBeUndefined()
  })
})

it('quotes keys in jsonpath', () => {
  expect(toJsonPath(['a', 'b"] || true'])).toBe('strict $."a"."b\\"] || true"')
  expect(nestJson(['a', '"'], '1')).toBe('{"a":{"\\"":1}}')
})
