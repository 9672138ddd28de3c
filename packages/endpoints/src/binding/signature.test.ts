import { describe, expect, it } from 'vitest'
import { parameterNames, reflectSignature } from './signature.ts'

type AnyFunction = (...args: never[]) => unknown

/** Returns a method with this parameter list, as it would be in a program. */
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
    // Import the source as a data URL, because the test runner rewrites the sources of tests.
    const source = 'data:text/javascript,export const x = { GET(a) { return import.meta.url + a } }'
    const { x } = await import(source)
    expect(reflectSignature(x.GET)).toEqual({ min: 1, max: 1, names: ['a'] })
  })

  const TRACES = [
    ...['arguments', '__awaiter', '__generator', '__rest', '__asyncGenerator', '__async', '__objRest'],
    ...['_asyncToGenerator', '_wrapAsyncGenerator', '_objectWithoutProperties', '_objectWithoutPropertiesLoose'],
  ]

  it.each(TRACES)('reads one positional, a, though a member, a text or a comment is named %s', (name) => {
    const bodies = [
      `return this.${name}`,
      `return this?.${name}`,
      `return a.${name}()`,
      `return a.b.${name}.c`,
      `return { ${name}: a }`,
      `const { ${name}: b } = a; return b`,
      `return { ${name}() {} }`,
      `return { get ${name}() { return a } }`,
      `return { async *${name}() {} }`,
      `return class { ${name} = 1 }`,
      `return class { ${name}; x = 1 }`,
      `return class { static ${name}; #${name} = 1; x() { return this.#${name} } }`,
      `return "${name}"`,
      `return \`${name}\``,
      `return \`\${a}${name}\``,
      `return \`${name}\${a}\``,
      `return a.raw\`${name}\``,
      `return /${name}/.test(a) /* ${name} */`,
    ]
    const read = bodies.map((body) => reflectSignature(method('a', { body })))
    expect(read).toEqual(bodies.map(() => ({ min: 1, max: 1, names: ['a'], keywords: undefined })))
  })

  it.each(TRACES)('refuses a handler that uses the value %s', (name) => {
    const bodies = [
      `return ${name}[0]`,
      `return { ${name} }`,
      `return { [${name}]: a }`,
      `return a[${name}]`,
      `return \`\${${name}}\``,
      `return ${name} ? a : 1`,
      `return class { [${name}] = 1 }`,
      `return a.b(${name})`,
      `return tslib_1.${name}(a)`,
      `return (0, tslib.${name})(a)`,
    ]
    for (const body of bodies) expect(() => reflectSignature(method('a', { body }))).toThrow('older than ES2022')
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
