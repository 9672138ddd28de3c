import { anyText } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { confirmationUrl, parseTemplate, renderHtml, renderSubject } from './mail-template.ts'

const html = (source: string, variables = {}) => renderHtml(parseTemplate(source), variables)

describe('renderHtml', () => {
  it.each([
    ['Hello {{ .Name }}!', { Name: 'Ada' }, 'Hello Ada!'],
    ['{{.Name}}', { Name: 'Ada' }, 'Ada'],
    ['{{ .Nobody }}', {}, ''],
    ['{{ .toString }}{{ .constructor.name }}', {}, ''],
    ['{{ .Data.key }}', { Data: { key: 'v' } }, 'v'],
    ['{{ .Data.key.deeper }}', { Data: { key: 'v' } }, ''],
    ['{{ .Data }}', { Data: { a: 1 } }, '{&quot;a&quot;:1}'],
    ['{{ .N }}', { N: 0 }, '0'],
    ['a  {{- .X -}}  b', { X: '-' }, 'a-b'],
    ['a {{- .X }} b', { X: '1' }, 'a1 b'],
    ['a\n {{- /* note */ -}} \nb', {}, 'ab'],
    ['{{ if .X }}yes{{ else }}no{{ end }}', { X: 'x' }, 'yes'],
    ['{{ if .X }}yes{{ else }}no{{ end }}', { X: '' }, 'no'],
    ['{{ if .X }}yes{{ end }}', { X: {} }, ''],
    ['{{ if .X }}{{ if .Y }}xy{{ else }}x{{ end }}{{ else }}-{{ end }}', { X: 1, Y: 0 }, 'x'],
    ['{ .X } }}', { X: 1 }, '{ .X } }}'],
  ])('renders %j with %j as %j', (source, variables, expected) => {
    expect(html(source, variables)).toBe(expected)
  })

  it.each(['a  {{- " }}', '{{ if .X }}open', '{{ end }}', '{{ else }}', '{{ range .X }}', '{{ .X | html }}'])(
    'refuses the template %j',
    (source) => {
      expect(() => parseTemplate(source)).toThrow(SyntaxError)
    },
  )

  it('escapes an address for the attribute that holds it', () => {
    expect(html('<a href="{{ .U }}">', { U: `https://h/?a=1&b="'<>` })).toBe(
      '<a href="https://h/?a=1&amp;b=%22%27%3C%3E">',
    )
  })

  // ASVS 1.1.2, 1.2.1, 1.3.7
  it('escapes a value that would end an attribute', () => {
    fc.assert(fc.property(anyText(), (value) => !/["'<>]/.test(html('{{ .X }}', { X: value }))))
  })
})

describe('renderSubject', () => {
  // ASVS 1.2.1, 1.3.11
  it('escapes nothing and has no line break', () => {
    expect(renderSubject(parseTemplate('{{ .X }}'), { X: 'a&b\r\nBcc: c' })).toBe('a&b Bcc: c')
  })
})

const link = {
  base: 'https://auth.example.com',
  path: '/verify',
  token: 'ab',
  type: 'signup',
  redirectTo: 'https://h/p',
}

describe('confirmationUrl', () => {
  // ASVS 1.2.2
  it.each([
    [{}, 'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https://h/p'],
    [{ base: 'https://h/auth/v1/' }, 'https://h/auth/v1/verify?token=ab&type=signup&redirect_to=https://h/p'],
    [{ base: 'https://h/auth/v1', path: '/confirm' }, 'https://h/confirm?token=ab&type=signup&redirect_to=https://h/p'],
    [{ path: 'https://app.test/c?x=1' }, 'https://app.test/c?x=1&token=ab&type=signup&redirect_to=https://h/p'],
    [
      { redirectTo: 'https://h/p?a=1&b' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2Fp%3Fa%3D1%26b',
    ],
    [{ redirectTo: 'https://h/p?q' }, 'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https://h/p?q'],
    [
      { redirectTo: 'https://h/#/x' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2F%23%2Fx',
    ],
    [
      { redirectTo: 'https://h/"x"' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2F%22x%22',
    ],
  ])('builds the link of %j', (change, expected) => {
    expect(confirmationUrl({ ...link, ...change })).toBe(expected)
  })

  it.each(['https://h/a%2Fb', 'https://h/p?next=%26admin%3D1', 'https://h/a+b', 'https://h/100%25', 'https://h/ä'])(
    'has a redirect_to that a browser reads as %s again',
    (redirectTo) => {
      expect(new URL(confirmationUrl({ ...link, redirectTo })).searchParams.get('redirect_to')).toBe(redirectTo)
    },
  )
})
