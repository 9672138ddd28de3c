import { describe, expect, it } from 'vitest'
import { parameterNames, reflectSignature } from './signature.ts'

type AnyFunction = (...args: never[]) => unknown

/** A method with this parameter list, as a program would have it. */
function method(parameters: string, { prefix = '', body = '' } = {}): AnyFunction {
  return new Function(`return { ${prefix} GET(${parameters}) { ${body} } }`)().GET
}

const anonymousClass: AnyFunction = new Function('return class {}')()

describe('reflectSignature', () => {
  it.each([
    ['', 0, 0, []],
    ['a', 1, 1, ['a']],
    ['a, b = 1', 1, 2, ['a', 'b']],
    ['a = undefined', 0, 1, ['a']],
    ['a, ...more', 1, Number.POSITIVE_INFINITY, ['a', 'more']],
    ['a = { b: [1] }, ...c', 0, Number.POSITIVE_INFINITY, ['a', 'c']],
    ['/* a, b */ c /* ) */', 1, 1, ['c']],
  ])('(%s) takes %i to %i', (parameters, ...[min, max, names]) => {
    expect(reflectSignature(method(parameters))).toEqual({ min, max, names, keywords: undefined })
  })

  it.each([
    ['{ a }', { index: 0, required: ['a'], known: new Set(['a']), open: false }],
    ['{ a, b = 1 }', { index: 0, required: ['a'], known: new Set(['a', 'b']), open: false }],
    ['{ a, ...rest }', { index: 0, required: ['a'], known: new Set(['a']), open: true }],
    ['{ ...kw } = {}', { index: 0, required: [], known: new Set(), open: true }],
    ['x, { a: { deep }, "b-c": d = 1 } = {}', { index: 1, required: ['a'], known: new Set(['a', 'b-c']), open: false }],
    ['{}', { index: 0, required: [], known: new Set(), open: false }],
  ])('(%s) has keywords', (parameters, keywords) => {
    expect(reflectSignature(method(parameters)).keywords).toEqual(keywords)
  })

  it.each([
    ['an async method', method('a', { prefix: 'async' })],
    ['a generator', method('a', { prefix: 'async *' })],
    ['a method that calls super', method('a', { body: 'return super.GET(a)' })],
    [
      'a method with a private name',
      class {
        #x = 1
        GET(a: string) {
          return a + this.#x
        }
      }.prototype.GET,
    ],
    [
      'a function',
      function GET(a: string) {
        return a
      },
    ],
    ['an arrow', (a: string) => a],
  ])('reads one positional, a, from the source of %s', (_name, handler) => {
    expect(reflectSignature(handler)).toEqual({ min: 1, max: 1, names: ['a'] })
  })

  it('reads one positional, a, from a source with syntax that only modules have', async () => {
    // From outside of the tests, whose sources are rewritten before they run.
    const source = 'data:text/javascript,export const x = { GET(a) { return import.meta.url + a } }'
    const { x } = await import(source)
    expect(reflectSignature(x.GET)).toEqual({ min: 1, max: 1, names: ['a'] })
  })

  it.each([
    'return this.arguments',
    'return this?.arguments',
    'return { arguments: a }',
    'const { arguments: b } = a; return b',
    'return { arguments() {} }',
    'return class { arguments = 1 }',
    'return "arguments"',
  ])('reads one positional, a, though a member is named arguments: %s', (body) => {
    expect(reflectSignature(method('a', { body }))).toEqual({ min: 1, max: 1, names: ['a'] })
  })

  it.each([
    ['[a]', 'array pattern'],
    ['...[a]', 'array pattern'],
    ['{ a }, { b }', 'two object patterns'],
    ['a = 1, b', 'required positional after an optional one'],
    ['{ [a]: b }', 'computed key'],
  ])('refuses (%s)', (parameters, message) => {
    expect(() => reflectSignature(method(parameters))).toThrow(message)
  })

  it.each([
    ['a bound function', (() => {}).bind(undefined), 'no readable source'],
    ['a native function', Math.max, 'no readable source'],
    ['a class', anonymousClass, 'no readable source'],
    [
      'defaults moved into the body',
      method('a', { body: 'var b = arguments.length > 1 ? arguments[1] : 2' }),
      'older than ES2022',
    ],
    [
      'an awaiter',
      method('a', { body: 'return __awaiter(this, void 0, void 0, function* () {})' }),
      'older than ES2022',
    ],
    ['an object rest', method('_a', { body: 'var b = __rest(_a, [])' }), 'older than ES2022'],
  ])('refuses %s', (_name, handler, message) => {
    expect(() => reflectSignature(handler)).toThrow(message)
  })
})

it.each([
  ['id, { limit }', ['id']],
  ['...[id, name, { limit }]', ['id', 'name']],
  ['...[, { limit }]', []],
  ['id = 1, ...more', ['id']],
  ['{ limit }', []],
])('parameterNames reads the positionals of (%s)', (parameters, names) => {
  expect(parameterNames(method(parameters))).toEqual(names)
})

it('has no names when there is no source', () => {
  expect(parameterNames(Math.max)).toEqual([])
})
