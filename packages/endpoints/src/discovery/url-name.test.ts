import { describe, expect, it } from 'vitest'
import { classUrlName, urlName } from './url-name.ts'

describe('urlName', () => {
  it.each([
    ['CheBaz', 'che-baz'],
    ['HTTPFoo', 'http-foo'],
    ['Foo2', 'foo2'],
    ['Foo2Bar', 'foo2bar'],
    ['APIKey', 'api-key'],
    ['foo_bar', 'foo-bar'],
    ['fooBar', 'foo-bar'],
    ['CHE-BAZ', 'che-baz'],
    ['A', 'a'],
    ['URL', 'url'],
  ])('writes %s as %s in a URL', (name, expected) => {
    expect(urlName(name)).toBe(expected)
  })
})

describe('classUrlName', () => {
  it.each([
    ['Foo_txt', 'foo.txt', 'txt'],
    ['FooBar_txt', 'foo-bar.txt', 'txt'],
    ['Default_html', 'index.html', 'html'],
    ['Foo_', 'foo', undefined],
    ['Foo_txt_', 'foo.txt', 'txt'],
    ['Foo', 'foo', undefined],
  ])('writes %s as %s in a URL', (exportName, name, extension) => {
    expect(classUrlName(exportName)).toEqual({ name, extension })
  })

  it.each([['Foo_tar_gz'], ['Foo__txt']])('refuses %s, which has more than one extension', (exportName) => {
    expect(() => classUrlName(exportName)).toThrow('more than one')
  })
})
