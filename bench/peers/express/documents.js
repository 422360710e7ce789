/** A CPF or CNPJ with its check digits, with or without punctuation. */
export function isDocument(text) {
  const digits = text.replace(/[./-]/g, '')
  if (/^\d{11}$/.test(digits)) return checks(digits, [9, 10], (length, place) => length + 1 - place)
  if (/^\d{14}$/.test(digits)) return checks(digits, [12, 13], (length, place) => ((length - 1 - place) % 8) + 2)
  return false
}

function checks(digits, lengths, weight) {
  return lengths.every((length) => {
    let sum = 0
    for (let place = 0; place < length; place += 1) sum += Number(digits[place]) * weight(length, place)
    const rest = sum % 11
    return Number(digits[length]) === (rest < 2 ? 0 : 11 - rest)
  })
}
