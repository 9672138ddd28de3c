import { describe, expect, it } from 'vitest'
import { FORM_TEXTS } from '../errors.ts'
import { parseJson } from '../service-calls/service-call.ts'
import { fieldsOf, fieldText, prettyJson, readFields } from './product-form.ts'

describe('fieldText', () => {
  it.each<[unknown, string]>([
    ['red', 'red'],
    ['two words', 'two words'],
    ['', '""'],
    [' ', '" "'],
    ['12', '"12"'],
    ['true', '"true"'],
    ['{"a":1}', '"{\\"a\\":1}"'],
    ['two\nlines', '"two\\nlines"'],
    [12, '12'],
    [null, 'null'],
    [['a', 1], '["a",1]'],
    [parseJson('0.10'), '0.10'],
    [parseJson('12345678901234567890'), '12345678901234567890'],
  ])('shows the value %j as the text %s', (value, expected) => {
    expect(fieldText(value)).toBe(expected)
  })
})

describe('fieldsOf', () => {
  it.each<[string]>([['[1]'], ['"text"'], ['null'], ['7'], ['0.10']])('has no fields for %s', (json) => {
    expect(fieldsOf(parseJson(json))).toBeUndefined()
  })
})

describe('readFields', () => {
  it.each<[string, [string, string][], string]>([
    ['text as text', [['colour', 'red']], '{"colour":"red"}'],
    ['a number with each of its digits', [['weight', '0.10']], '{"weight":0.10}'],
    ['a text in quotes as text', [['size', '"12"']], '{"size":"12"}'],
    ['JSON that is cut off as text', [['note', '{"a":']], '{"note":"{\\"a\\":"}'],
    ['a number with a zero before it as text', [['code', '007']], '{"code":"007"}'],
    ['a name with quotes', [['a"b', '1']], '{"a\\"b":1}'],
    [
      'nothing for a field without a value',
      [
        ['', ''],
        ['gone', ' '],
        ['kept', '1'],
      ],
      '{"kept":1}',
    ],
    ['no fields as an empty object', [], '{}'],
  ])('makes JSON of what is typed, %s', (_what, fields, json) => {
    expect(readFields(fields.map(([name, text]) => ({ name, text })))).toEqual({ kind: 'read', json })
  })

  it.each<[string, [string, string][], string]>([
    ['a value without a name', [['', '1']], FORM_TEXTS.nameless],
    [
      'a name that is there twice',
      [
        ['a', '1'],
        ['a', '1'],
      ],
      FORM_TEXTS.twice('a'),
    ],
  ])('refuses %s', (_what, fields, problem) => {
    expect(readFields(fields.map(([name, text]) => ({ name, text })))).toEqual({ kind: 'refused', problem })
  })

  it('reads what fieldsOf shows as the same attributes, with every digit', () => {
    const json = '{"a":"12","b":12345678901234567890,"c":0.10,"d":[1.0,"x"],"e":null,"f":"","g":"two\\nlines"}'
    expect(readFields(fieldsOf(parseJson(json)) ?? [])).toEqual({ kind: 'read', json })
  })
})

describe('prettyJson', () => {
  it('keeps the digits of numbers', () => {
    expect(prettyJson(parseJson('{"a":0.10}'))).toBe('{\n  "a": 0.10\n}')
  })
})
