#!/usr/bin/env bash
# A phone number in E.164 that libphonenumber has parsed and formatted may parse to another number.
#
# Expectation: format(parse(x)) is the normal form of x, so parsing the form again changes nothing. A service stores the form,
# and looks users up by it. In fact the parser takes one national prefix away, here a 0, and the form may begin with the next
# one: +43 00 40566150 becomes +43 0 40566150, which becomes +43 40566150. Google's library and its port to JavaScript do the
# same, and both call each of the numbers possible.
#
# Where it matters: whoever identifies users by a parsed number has to parse until nothing changes. Otherwise a user who types
# the number of their own record is somebody else.
set -euo pipefail
command -v npm >/dev/null && command -v node >/dev/null || { echo 'npm and node are missing' >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund libphonenumber-js@1.13.16 google-libphonenumber@3.2.47 >/dev/null || exit 2
cat >run.mjs <<'JS'
import google from 'google-libphonenumber'
import { parsePhoneNumberFromString } from 'libphonenumber-js/max'

const { PhoneNumberUtil, PhoneNumberFormat } = google
const util = PhoneNumberUtil.getInstance()
const libraries = {
  'libphonenumber-js': (text) => {
    const number = parsePhoneNumberFromString(text)
    return { form: number.number, isPossible: number.isPossible() }
  },
  'google-libphonenumber': (text) => {
    const number = util.parse(text)
    return { form: util.format(number, PhoneNumberFormat.E164), isPossible: util.isPossibleNumber(number) }
  },
}
let asSaid = true
for (const [name, read] of Object.entries(libraries)) {
  const once = read('+430040566150')
  const twice = read(once.form)
  console.log(`${name}: +43 00 40566150 is ${once.form} (possible: ${once.isPossible}), and this is ${twice.form} (possible: ${twice.isPossible})`)
  asSaid &&= once.isPossible && twice.isPossible && once.form !== twice.form
}
process.exitCode = asSaid ? 0 : 1
JS
npm ls --depth=0 2>/dev/null | tail -n +2
node run.mjs
