import { describe, expect, test } from 'vitest'
import { checkContact, columnsOf } from '../../src/people/contacts/contact-rows.ts'

describe('the header', () => {
  test('names the columns in any order and case, with others between them', () => {
    expect(columnsOf(['Email ', 'city', 'PHONE', ' name'])).toEqual({ at: { name: 3, phone: 2, email: 0 }, count: 4 })
  })

  test('needs exactly one phone column', () => {
    expect(() => columnsOf(['name', 'email'])).toThrow('expected a header with the column phone')
    expect(() => columnsOf(['name|phone', 'email'])).toThrow('got "name|phone", "email"')
    expect(() => columnsOf([])).toThrow('expected a header with the column phone')
    expect(() => columnsOf(['phone', 'Phone'])).toThrow('expected one column "phone", got several')
  })
})

describe('a row', () => {
  const columns = columnsOf(['name', 'phone', 'email'])
  const check = (...cells: string[]) => checkContact(cells, columns)

  test('becomes a contact with trimmed cells and the digits of the phone', () => {
    expect(check(' Ann ', '+49 (151) 2345-6789', ' ann@example.org ')).toEqual({
      contact: { name: 'Ann', phone: '4915123456789', email: 'ann@example.org' },
    })
  })

  test('needs neither name nor email, nor their cells', () => {
    const contact = { name: '', phone: '4915123456789', email: '' }
    expect(check('', '4915123456789', '')).toEqual({ contact })
    expect(check('', '4915123456789')).toEqual({ contact })
    expect(checkContact(['4915123456789'], columnsOf(['phone']))).toEqual({ contact })
  })

  test('may have empty cells after its last one', () => {
    expect(check('Ann', '4915123456789', '', '', ' ')).toHaveProperty('contact')
  })

  test.each([
    [['Ann', '', 'ann@example.org'], 'phone: required'],
    [['Ann', '555', ''], /^phone: expected a full international phone number/],
    [['Ann', '4.91512E+12', ''], 'phone: the spreadsheet has rounded this number; format the column as text'],
    [['Ann', '4915123456789', 'ann@'], 'email: not an email address'],
    [['Ann', '4915123456789', `${'a'.repeat(250)}@example.org`], 'email: not an email address'],
    [['x'.repeat(256), '4915123456789', ''], 'name: at most 255 characters, got 256'],
    [['Ann\n4915123456780,Bob', '4915123456789', ''], 'name: a line break; is a quote not closed?'],
    [['Ann\u0000', '4915123456789', ''], 'name: a control character'],
    [['Zo\uFFFD', '4915123456789', ''], 'name: a character was lost before; save the file anew, as UTF-8'],
    [['Doe', 'Ann', '4915123456789', ''], 'phone: expected a full international phone number'],
    [['Ann', '4915123456789', '', 'more'], 'expected 3 cells, got 4'],
  ])('is refused when it is %j', (cells, reason) => {
    const checked = check(...cells)
    expect(checked).toEqual({
      refused: typeof reason === 'string' ? expect.stringContaining(reason) : expect.stringMatching(reason),
    })
  })
})
