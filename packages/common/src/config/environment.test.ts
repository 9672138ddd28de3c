import { describe, expect, it } from 'vitest'
import { ConfigError, findCutValues, requireWholeValues } from './environment.ts'

describe('findCutValues', () => {
  it.each([
    ['a # in a value', 'A=sh#aaa', 'sh#aaa'],
    ['a # at the beginning of a value', 'A=#secret', '#secret'],
    ['a # before a comment', 'A=b#c # why', 'b#c'],
    ['several #', 'A=b##c#', 'b##c#'],
    ['a fragment of a URL', 'export A = http://a.example/#top', 'http://a.example/#top'],
    ['a quote that begins inside of a value', "A=b'c#d'", "b'c#d'"],
    ['a line that ends as on Windows', 'B=1\r\nA=b#c\r\n', 'b#c'],
  ])('finds the whole value with %s', (_case, text, whole) => {
    expect([...findCutValues(text)]).toEqual([['A', whole]])
  })

  it.each([
    ['single quotes', "A='b#c'"],
    ['double quotes, before a comment with another #', 'A="b#c" # d#e'],
    ['quotes over several lines, one of which looks like a setting', 'A="b\nC=d#e\n"'],
    ['no value with a comment', 'A= # b#c'],
    ['a comment after a tab', 'A=b\t#c#d'],
    ['a setting in a comment', '# A=b#c\n#A=b#c\nB=1'],
    ['a line that is no setting', 'b#c\nA=1'],
  ])('finds none in %s', (_case, text) => {
    expect([...findCutValues(text)]).toEqual([])
  })
})

it('requireWholeValues names the file and the settings, and takes a file whose values are whole', () => {
  const advice =
    'has a # with no blank before it, which would cut its value: put the value in single quotes, or a blank before a comment'
  expect(() => requireWholeValues('moving.env', 'B=hidden#x\nA=hidden#y\nC=1')).toThrow(
    new ConfigError([`moving.env: A ${advice}`, `moving.env: B ${advice}`]),
  )
  expect(() => requireWholeValues('moving.env', "A='b#c' # d")).not.toThrow()
})
