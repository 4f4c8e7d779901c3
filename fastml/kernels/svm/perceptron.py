"""One block of rows of the kernel perceptron.

Scores come from the coefficients before the block; a mistake on a row changes the scores of the
rows behind it in the block.
"""

from fastml._jit import kernel


@kernel
def perceptron_block(gram, rows, signs, scores, coefficients, delays, mistakes, step):
    """Visit the rows in turn, for each problem; a wrong or zero score adds the row's sign.

    gram : (block, n) kernel values of the block's rows with all rows
    rows : (block,) numbers of the block's rows
    signs, coefficients, delays : (problems, n); scores : (block, problems)
    delays : Σ sign · (steps before it), from which the mean over all steps follows
    step : number of rows seen before this block

    Changes ``scores``, ``coefficients``, ``delays`` and ``mistakes`` (problems,), their number.
    """
    for b in range(rows.shape[0]):
        i = rows[b]
        for k in range(signs.shape[0]):
            sign = signs[k, i]
            if sign * scores[b, k] <= 0.0:
                mistakes[k] += 1
                coefficients[k, i] += sign
                delays[k, i] += sign * (step + b)
                for later in range(b + 1, rows.shape[0]):
                    scores[later, k] += sign * gram[later, i]
