import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FormObject, type FormValue, parseForm } from './parse-form.ts'

describe('parseForm', () => {
  it.each([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['a=b=c', { a: 'b=c' }],
    ['&&a=1&', { a: '1' }],
    ['a=1+2%2B3', { a: '1 2+3' }],
    ['na%C3%AFve=%E2%82%AC', { naïve: '€' }],
    ['company[country]=DK&company[number]=1', { company: { country: 'DK', number: '1' } }],
    ['company%5Bcountry%5D=DK', { company: { country: 'DK' } }],
    ['a[b][c][d][e][f]=1', { a: { b: { c: { d: { e: { f: '1' } } } } } }],
    ['a[]=1&a[]=2', { a: ['1', '2'] }],
    ['a[][b]=1&a[][b]=2', { a: [{ b: '1' }, { b: '2' }] }],
    ['a[1]=y&a[0]=x', { a: { 0: 'x', 1: 'y' } }],
    ['a[b=1', { 'a[b': '1' }],
    ['a]b=1', { 'a]b': '1' }],
    ['a[b]c=1', { 'a[b]c': '1' }],
    ['a[[b]]=1', { 'a[[b]]': '1' }],
    ['[a]=1', { '[a]': '1' }],
    ['hasOwnProperty=1', { hasOwnProperty: '1' }],
  ])('reads the form %j as the value %j', (text, expected) => {
    const parsed = parseForm(text)
    expect(parsed.verdict === 'read' && JSON.parse(JSON.stringify(parsed.value))).toEqual(expected)
  })

  // ASVS 1.5.2, 15.3.6, 15.3.7
  it.each([
    ['a=1&a=2', [{ field: 'a', message: 'is given more than once', code: 'DUPLICATE' }]],
    ['a=1&a[b]=2', [{ field: 'a', message: 'is given more than once', code: 'DUPLICATE' }]],
    ['a[b]=2&a=1', [{ field: 'a', message: 'is given more than once', code: 'DUPLICATE' }]],
    ['a[]=2&a[b]=1', [{ field: 'a', message: 'is given more than once', code: 'DUPLICATE' }]],
    ['a[b]=2&a[]=1', [{ field: 'a', message: 'is given more than once', code: 'DUPLICATE' }]],
    ['a[b]=1&a[b]=2&c=1', [{ field: 'a.b', message: 'is given more than once', code: 'DUPLICATE' }]],
    ['__proto__[x]=1', [{ field: '__proto__.x', message: 'is not an allowed name', code: 'FORMAT' }]],
    ['a[constructor]=1', [{ field: 'a.constructor', message: 'is not an allowed name', code: 'FORMAT' }]],
    ['prototype=1', [{ field: 'prototype', message: 'is not an allowed name', code: 'FORMAT' }]],
    ['a=%', [{ field: 'body', message: 'is not valid percent-encoded UTF-8', code: 'FORMAT' }]],
    ['a=%FF', [{ field: 'body', message: 'is not valid percent-encoded UTF-8', code: 'FORMAT' }]],
    ['%ED%A0%80=1', [{ field: 'body', message: 'is not valid percent-encoded UTF-8', code: 'FORMAT' }]],
    [
      'a[b][c][d][e][f][g]=1',
      [{ field: 'a.b.c.d.e.f.g', message: 'must not nest deeper than 5 levels', code: 'RANGE' }],
    ],
  ])('refuses %j', (text, errors) => {
    expect(parseForm(text)).toEqual({ verdict: 'malformed', errors })
  })

  it('takes 500 pairs and refuses 501', () => {
    const pairs = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=`).join('&')
    expect(parseForm(pairs(500))).toEqual({
      verdict: 'read',
      value: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, ''])),
    })
    expect(parseForm(pairs(501))).toEqual({
      verdict: 'malformed',
      errors: [{ field: 'body', message: 'must have at most 500 fields', code: 'RANGE' }],
    })
  })

  // ASVS 1.1.1
  it('reads back every nested object that is written as a form', () => {
    const key = fc
      .string({ minLength: 1, unit: 'grapheme' })
      .filter((text) => !/[[\]]|^(__proto__|prototype|constructor)$/.test(text))
    const leaf = fc.string({ unit: 'grapheme' })
    const level = (value: fc.Arbitrary<FormValue>) =>
      fc.oneof(
        value,
        fc.dictionary(key, value, { minKeys: 1, maxKeys: 3 }),
        fc.array(leaf, { minLength: 1, maxLength: 3 }),
      )
    fc.assert(
      fc.property(fc.dictionary(key, level(level(level(leaf))), { maxKeys: 5 }), (form) => {
        const parsed = parseForm(write(form))
        expect(parsed.verdict === 'read' && plain(parsed.value)).toEqual(plain(form))
      }),
    )
  })

  // ASVS 15.3.6
  it('never throws, and never reaches a prototype', () => {
    const piece = fc.constantFrom(
      'a',
      '[',
      ']',
      '=',
      '&',
      '%',
      '%5B',
      '%00',
      '+',
      '__proto__',
      'constructor',
      '0',
      '[]',
    )
    fc.assert(
      fc.property(
        fc.array(piece).map((pieces) => pieces.join('')),
        (text) => {
          const parsed = parseForm(text)
          if (parsed.verdict === 'read') expect(Object.getPrototypeOf(parsed.value)).toBeNull()
          expect(({} as Record<string, unknown>).a).toBeUndefined()
        },
      ),
    )
  })
})

function write(form: FormObject): string {
  const pairs: string[] = []
  const visit = (path: string, value: FormValue): void => {
    if (typeof value === 'string') pairs.push(`${encodeURIComponent(path)}=${encodeURIComponent(value)}`)
    else if (Array.isArray(value)) for (const item of value) visit(`${path}[]`, item)
    else for (const [key, field] of Object.entries(value)) visit(`${path}[${key}]`, field)
  }
  for (const [key, value] of Object.entries(form)) visit(key, value)
  return pairs.join('&')
}

function plain(value: FormValue): unknown {
  return JSON.parse(JSON.stringify(value))
}
