import { describe, expect, it } from 'vitest'
import { greetingName, isRefusedRecipient } from './smtp.ts'

describe('greetingName', () => {
  it.each([
    ['https://auth.example.com/v1', 'auth.example.com'],
    ['https://auth.example.com.:8443', 'auth.example.com'],
    ['http://localhost:8081', 'localhost'],
    ['https://münchen.example', 'xn--mnchen-3ya.example'],
    ['http://192.0.2.1:8081', '[192.0.2.1]'],
    ['http://[2001:db8::1]:8081', '[IPv6:2001:db8::1]'],
  ])('greets for %s as %s', (url, name) => {
    expect(greetingName(url)).toBe(name)
  })
})

describe('isRefusedRecipient', () => {
  const failure = (command: string, responseCode: number) =>
    Object.assign(new Error('refused'), { code: 'EENVELOPE', command, responseCode })
  it.each([
    ['RCPT TO', 550, true],
    ['RCPT TO', 553, true],
    ['RCPT TO', 554, true],
    ['RCPT TO', 450, false],
    ['RCPT TO', 530, false],
    ['MAIL FROM', 550, false],
    ['DATA', 554, false],
  ])('judges an answer to %s with %d as final: %s', (command, status, isFinal) => {
    expect(isRefusedRecipient(failure(command, status))).toBe(isFinal)
  })

  it('judges a failed connection as not final', () => {
    expect(isRefusedRecipient(Object.assign(new Error('refused'), { code: 'ECONNREFUSED', command: 'CONN' }))).toBe(
      false,
    )
  })
})
