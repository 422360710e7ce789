import { Badge, Group, Text } from '@mantine/core'
import { useFormat } from '../../format.ts'
import { counted, texts, useText } from '../../text.ts'
import type { WithdrawalView } from '../../types.ts'
import { ReviewBadge } from './pending-review.tsx'

const words = texts({
  en: {
    first: 'first time to this key',
    mayBeSent: 'may have been sent: look it up at the PSP',
    history: (count: string, total: string, last: string) => `Sent ${count} times before, ${total}, last ${last}`,
    historyOnce: (total: string, last: string) => `Sent once before, ${total}, ${last}`,
    never: 'This merchant has never sent to this key',
    others: (count: string, total: string, merchants: string) =>
      `Other merchants: ${counted(count, 'time', 'times')}, ${total} (${counted(merchants, 'merchant', 'merchants')})`,
    noOthers: 'No other merchant has sent to it',
    name: (name: string) => `Receiver at the last withdrawal: ${name}`,
    total: (total: string) => `${total} in total`,
  },
  pt: {
    first: 'primeira vez para esta chave',
    mayBeSent: 'pode já ter sido enviado: confira no PSP',
    history: (count: string, total: string, last: string) =>
      `${count} saques já enviados, ${total}, o último em ${last}`,
    historyOnce: (total: string, last: string) => `1 saque já enviado, ${total}, em ${last}`,
    never: 'Este lojista nunca enviou para esta chave',
    others: (count: string, total: string, merchants: string) =>
      `Outros lojistas: ${counted(count, 'saque', 'saques')}, ${total} (${counted(merchants, 'lojista', 'lojistas')})`,
    noOthers: 'Nenhum outro lojista enviou para ela',
    name: (name: string) => `Titular no último saque: ${name}`,
    total: (total: string) => `${total} no total`,
  },
})

/** The warnings of a withdrawal: why it is pending review, and whether it may have been sent or its key is new. */
export function ReviewFlags({ withdrawal: { hold, mayBeSent, receiver } }: { withdrawal: WithdrawalView }) {
  const t = useText(words)
  if (hold === null && receiver.count > 0) return null
  return (
    <Group gap={6}>
      {hold && <ReviewBadge hold={hold} />}
      {mayBeSent && (
        <Badge variant="light" color="red" tt="none" radius="sm">
          {t.mayBeSent}
        </Badge>
      )}
      {receiver.count === 0 && (
        <Badge variant="light" color="yellow" tt="none" radius="sm" style={{ flexShrink: 0, minWidth: 'max-content' }}>
          {t.first}
        </Badge>
      )}
    </Group>
  )
}

/** What was sent to the key before: by this merchant and, for operators, by others. */
export function ReceiverHistory({
  of: { name, count, sum, isMore, lastAt, others },
}: {
  of: WithdrawalView['receiver']
}) {
  const t = useText(words)
  const format = useFormat()
  const shown = (number: number, more: boolean) => `${format.number(number)}${more ? '+' : ''}`
  const last = lastAt === null ? '' : format.dateTime(lastAt)
  const own =
    count === 0
      ? t.never
      : count === 1
        ? t.historyOnce(format.money(sum), last)
        : t.history(shown(count, isMore), t.total(`${format.money(sum)}${isMore ? '+' : ''}`), last)
  const ofOthers =
    others === null
      ? ''
      : others.count === 0
        ? t.noOthers
        : t.others(
            shown(others.count, others.isMore),
            `${format.money(others.sum)}${others.isMore ? '+' : ''}`,
            format.number(others.merchants),
          )
  return (
    <Text size="xs" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
      {name !== null && <div>{t.name(name)}</div>}
      {[own, ofOthers].filter((line) => line !== '').join(' · ')}
    </Text>
  )
}
