import { expect, it } from 'vitest'
import { toAsciiText, toSepaName, toSepaText } from './latin-text.ts'

it.each([
  ['Müller & Söhne GmbH', 'Muller + Sohne GmbH'],
  ['Straße 12 – Köln', 'Strasse 12 - Koln'],
  ['ŁÓDŹ Spółka z o.o.', 'LODZ Spolka z o.o.'],
  ['Diyarbakır Işıklı İnşaat', 'Diyarbakir Isikli Insaat'],
  ['Þórður Æðarsson', 'Thordur Aedarsson'],
  ['Ħal Għaxaq Ċensu', 'Hal Ghaxaq Censu'],
  ['Ștefan Țiriac, Brașov', 'Stefan Tiriac, Brasov'],
  ['Jānis Bērziņš; Šiauliai', 'Janis Berzins, Siauliai'],
  ['Ελληνική Θάλασσα', 'Elliniki Thalassa'],
  ['ΨΑΡΙΑ ΧΙΟΥ Α.Ε.', 'PSARIA CHIOY A.E.'],
  ['Щастливеца ЕООД, Пловдив', 'Shtastlivetsa EOOD, Plovdiv'],
  ['Юрий ЕООД', 'Yuriy EOOD'],
  ['Ѓорѓи Ќосев, Скопје', 'Gjorgji Kjosev, Skopje'],
  ['Đorđe Čaušević & Šon', 'Dorde Causevic + Son'],
  ['Ђорђе', 'Dorde'],
  ['J’accuse “L’Œuvre” — 50 € …', "J'accuse 'L'Oeuvre' - 50 E ..."],
  ['Nguyễn ﬁx Ａｂ１', 'Nguyen fix Ab1'],
  ['e\u0301t\u00ade\u200b\u0301', 'ete'],
  ['a\t\u0000 b ', 'a b'],
  ['x <b> ☕', 'x (b) .'],
  ['株式会社 ABC', '.... ABC'],
  ['a'.repeat(71), 'a'.repeat(70)],
  ['ß'.repeat(36), 's'.repeat(70)],
])('writes the name %j for a bank as %j', (text, written) => {
  expect(toSepaText(text, 70)).toBe(written)
})

it.each([['北京'], ['مكتبة'], ['שלום'], ['დავითი'], ['☕ & —'], ['   '], ['']])(
  'leaves nothing of %j, of which no letter can be written',
  (text) => {
    expect([toSepaText(text, 70), toAsciiText(text, 22)]).toEqual(['', ''])
  },
)

it('keeps printable ASCII in statements of cards, also what no bank file may have', () => {
  expect(toAsciiText('Caf\u00e9 50% #1 = "x"; @y', 22)).toBe('Cafe 50% #1 = "x"; @y')
})

it.each([
  ['ABC 株式会社'],
  ['Al Noor مكتبة LLC'],
  ['שלום Ltd'],
  ['Cafe ქართული'],
  ['Shop ٣'],
  [`${'a'.repeat(80)}北`],
  ['☕'],
])('writes no name for %j, of which a letter would leave as a full stop', (name) => {
  expect(toSepaName(name, 70)).toBe('')
})

it.each([
  ['Müller & Söhne GmbH', 'Muller + Sohne GmbH'],
  ['Юрий ЕООД №1', 'Yuriy EOOD No1'],
  ['Θάλασσα ΑΕ ☕', 'Thalassa AE .'],
  ['Nguye\u0302\u0303n Ａｂ²', 'Nguyen Ab2'],
  ['Oʻzbek Gʼijduvon Kaʽaba Solʹ', "O'zbek G'ijduvon Ka'aba Sol'"],
])('writes the name %j as %j', (name, written) => {
  expect(toSepaName(name, 70)).toBe(written)
})
