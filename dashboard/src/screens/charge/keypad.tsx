import { Button, SimpleGrid, Stack, Text } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { guiche } from '../../api.ts'
import { ActionForm } from '../../components/form.tsx'
import { useFormat } from '../../format.ts'
import { useIdempotencyKey } from '../../idempotency.ts'
import { isBusy } from '../../shortcuts.ts'
import { useText } from '../../text.ts'
import type { Charge } from './open-charge.tsx'
import { words } from './text.ts'

/** R$ 9.999.999,99 fits on a phone. */
const centsMax = 999_999_999
/** A customer at a counter pays at once. */
const expirationSeconds = 600

/** Takes an amount as a card machine does: each digit moves the others to the left. */
export function Keypad({ onCreated }: { onCreated: (charge: Charge) => void }) {
  const t = useText(words)
  const format = useFormat()
  const [cents, setCents] = useState(0)
  const keyOf = useIdempotencyKey()
  const create = useMutation({
    mutationFn: async () =>
      await guiche.transactions.create({
        amount: cents,
        // The amount may change after a refusal; then it is another charge.
        idempotencyKey: keyOf(cents),
        pix: { expirationSeconds },
      }),
    onSuccess: onCreated,
  })
  const press = (digits: string) =>
    setCents((before) => {
      const next = Number(`${before}${digits}`)
      return next > centsMax ? before : next
    })
  const erase = () => setCents((before) => Math.floor(before / 10))
  useWindowEvent('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
    if (create.isPending || ctrlKey || metaKey || altKey || isBusy(target)) return
    if (/^\d$/.test(key)) press(key)
    else if (key === 'Backspace') erase()
    // On a button, Enter presses that button.
    else if (key === 'Enter' && target === document.body && cents > 0) create.mutate()
  })
  return (
    <div style={{ maxWidth: 420, width: '100%', marginInline: 'auto' }}>
      <ActionForm action={create} isReady={cents > 0}>
        <Stack gap="md">
          <Text role="status" aria-label={t.amount} ta="center" fw={700} fz={44} lh={1.3}>
            {format.money(cents)}
          </Text>
          <SimpleGrid cols={3} spacing="sm" role="group" aria-label={t.digits}>
            {['1', '2', '3', '4', '5', '6', '7', '8', '9', '00', '0'].map((digits) => (
              <Button key={digits} variant="default" h={64} fz={24} onClick={() => press(digits)}>
                {digits}
              </Button>
            ))}
            <Button variant="default" h={64} fz={24} aria-label={t.erase} onClick={erase}>
              ⌫
            </Button>
          </SimpleGrid>
          <Button type="submit" size="xl" loading={create.isPending} disabled={cents === 0}>
            {cents === 0 ? t.create : t.createAmount(format.money(cents))}
          </Button>
        </Stack>
      </ActionForm>
    </div>
  )
}
